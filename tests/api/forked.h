/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that are forked processes, with a bootstrap through a page that they share. */
#ifndef STRATA_TESTS_API_FORKED_H
#define STRATA_TESTS_API_FORKED_H

#include <strata/strata.h>

/** Runs `body` in `ranks` processes, each with its bootstrap. Returns how many of them did not return 0. */
int run_forked(int ranks, int (*body)(const struct strata_bootstrap* bootstrap));

#endif
