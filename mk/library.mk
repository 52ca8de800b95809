# libdarknet-gemm: the variants for programs that nobody patches. Its own files are src/lib/*.c; the
# rest is gemm.o.

VERSION := $(shell sed -n 's/^\#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' src/darknet_gemm.h)
SONAME = libdarknet-gemm.so.$(firstword $(subst ., ,$(VERSION)))
# The public symbols, one a line.
EXPORTS = src/lib/exports
# Archive members that replace functions of a host: a program takes them only when it asks for them.
LIBRARY_DOORS = $(addprefix $(OBJ)/src/lib/,host.o wrap.o blas.o)
LIBRARY_REST = $(filter-out $(LIBRARY_DOORS),$(patsubst %.c,$(OBJ)/%.o,$(wildcard src/lib/*.c)))

# A linker's list of the public names. What it needs beside the flags are files of names.
$(OUT)/%.map: $(OUT)/flags
	$(Q)awk 'BEGIN { print "{ global:" } { print $$0 ";" } END { print "local: *; };" }' $(filter %/exports,$^) >$@
$(OUT)/exports.map: $(EXPORTS)

# A symbol that nothing defines must fail here, not in a host. A sanitizer's come from the program.
NO_UNDEFINED = $(if $(filter 0,$(SANITIZE)),-Xlinker --no-undefined)
$(OUT)/libdarknet-gemm.so: $(OUT)/gemm.o $(LIBRARY_DOORS) $(LIBRARY_REST) $(OUT)/exports.map
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,-Bsymbolic-functions $(NO_UNDEFINED) \
	    -Wl,--version-script=$(OUT)/exports.map $(filter %.o,$^) -o $@ $(GEMM_LIBS) $(LDLIBS)
	@ln -sf $(@F) $(OUT)/$(SONAME)

# Within the archive only the public symbols stay global, and what the doors call.
$(OUT)/libdarknet-gemm.a: $(OUT)/gemm.o $(LIBRARY_DOORS) $(LIBRARY_REST) $(EXPORTS)
	$(Q)$(LD) -r -o $(OUT)/darknet-gemm.o $(OUT)/gemm.o $(LIBRARY_REST)
	$(Q){ cat $(EXPORTS); printf '%s\n' gemm_run_pieces gemm_find_host gemm_run_darknet; } >$(OUT)/archive.exports
	$(Q)$(OBJCOPY) --keep-global-symbols=$(OUT)/archive.exports $(OUT)/darknet-gemm.o
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(OUT)/darknet-gemm.o $(LIBRARY_DOORS)

libdarknet-gemm.so libdarknet-gemm.a: %: $(OUT)/% FORCE
	@setup/link.sh $< $@

# ---- make install PREFIX=/usr/local DESTDIR= ----
.PHONY: install uninstall
INSTALL_ARGUMENTS = $(OUT) $(call quote,$(PREFIX)) $(VERSION) $(SONAME)
install: $(OUT)/libdarknet-gemm.so $(OUT)/libdarknet-gemm.a $(OUT)/bench/gemm_bench ## install library, headers, gemm-bench and man page: PREFIX DESTDIR, SYMBOLS=1 for a debugger
	@DESTDIR=$(call quote,$(DESTDIR)) OBJCOPY=$(call quote,$(OBJCOPY)) SYMBOLS=$(SYMBOLS) setup/install.sh install $(INSTALL_ARGUMENTS)

uninstall: ## remove what install put there: PREFIX DESTDIR
	@DESTDIR=$(call quote,$(DESTDIR)) setup/install.sh uninstall $(INSTALL_ARGUMENTS)
