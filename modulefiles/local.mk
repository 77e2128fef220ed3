# SPDX-License-Identifier: BSD-3-Clause
# For Environment Modules and Lmod: module use PREFIX/share/modulefiles; module load strata
EXTRA_DIST += modulefiles/strata.in modulefiles/strata.lua.in
modulefilesdir = $(datadir)/modulefiles/strata
modulefiles_DATA = modulefiles/$(VERSION) modulefiles/$(VERSION).lua
CLEANFILES += $(modulefiles_DATA)
fill_in = sed -e 's|@bindir[@]|$(bindir)|' -e 's|@libdir[@]|$(libdir)|' -e 's|@mandir[@]|$(mandir)|' \
  -e 's|@includedir[@]|$(includedir)|' -e 's|@VERSION[@]|$(VERSION)|'
modulefiles/$(VERSION): modulefiles/strata.in
	$(AM_V_GEN)$(MKDIR_P) modulefiles && $(fill_in) $(srcdir)/modulefiles/strata.in >$@
modulefiles/$(VERSION).lua: modulefiles/strata.lua.in
	$(AM_V_GEN)$(MKDIR_P) modulefiles && $(fill_in) $(srcdir)/modulefiles/strata.lua.in >$@
