// SPDX-License-Identifier: BSD-3-Clause
// Runs a program under a filter as those of containers and batch systems: its processes may not trace others, nor read
// or write their memory. With 77 it ends where the kernel takes no filter.
//
//     filtered PROGRAM ARGUMENT...
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { skipped = 77, cannot_run = 126 };

int main(int argc, char** argv) {
  // The numbers are those of the architecture that this is built for; what it runs is of the same.
  struct sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  const struct sock_fprog filter = {sizeof instructions / sizeof *instructions, instructions};
  if (argc < 2) return cannot_run;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    fprintf(stderr, "filtered: no filter: %s\n", strerror(errno));
    return skipped;
  }
  char from = 1, to = 0;
  const struct iovec here = {&to, 1}, there = {&from, 1};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EPERM) {
    fprintf(stderr, "filtered: the filter does not hold\n");
    return cannot_run;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return cannot_run;
}
