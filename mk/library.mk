# SPDX-License-Identifier: MIT
# libdarknet-gemm: the variants for programs that nobody patches. Its own files are src/lib/*.c; the
# rest is gemm.o.

VERSION := $(shell sed -n 's/^\#define DARKNET_GEMM_VERSION "\(.*\)"/\1/p' src/darknet_gemm.h)
SONAME = libdarknet-gemm.so.$(firstword $(subst ., ,$(VERSION)))
# The public symbols, one a line, with their version. A name that replaces a host's function has none,
# because a host may ask for it under any version.
EXPORTS = src/lib/exports
# Archive members that replace functions of a host: a program takes them only when it asks for them.
LIBRARY_DOORS = $(addprefix $(OBJ)/src/lib/,host.o wrap.o blas.o openblas.o)
# Of the shared libraries alone, which may be preloaded.
LIBRARY_PRELOADED = $(OBJ)/src/lib/reach.o
LIBRARY_REST = $(filter-out $(LIBRARY_DOORS) $(LIBRARY_PRELOADED),$(patsubst %.c,$(OBJ)/%.o,$(wildcard src/lib/*.c)))

# The linker's list of names with a version. What has none is global as it stands in the one object.
$(OUT)/exports.map: $(EXPORTS) $(OUT)/flags
	$(Q)awk 'NF > 1 { names[$$2] = names[$$2] " " $$1 ";" } \
	    END { for (version in names) print version " { global:" names[version] " };" }' $(EXPORTS) >$@

# 32-bit x86 has functions for the program counter in groups of which the linker keeps one. In an object whose
# names are made local they must be no group, because other objects could not reach the one that is kept.
UNGROUP = $(if $(IS_I386),--force-group-allocation)

# One object, in which only the public names are global.
$(OUT)/library.o: $(OUT)/gemm.o $(LIBRARY_DOORS) $(LIBRARY_PRELOADED) $(LIBRARY_REST) $(EXPORTS)
	$(Q)$(LD) -r $(UNGROUP) -o $@.new $(filter %.o,$^)
	$(Q)awk '{ print $$1 }' $(EXPORTS) >$(OUT)/library.exports
	$(Q)$(OBJCOPY) --keep-global-symbols=$(OUT)/library.exports $@.new
	@mv $@.new $@

# A symbol that nothing defines must fail here, not in a host. A sanitizer's come from the program.
NO_UNDEFINED = $(if $(filter 0,$(SANITIZE)),-Xlinker --no-undefined)
$(OUT)/libdarknet-gemm.so: $(OUT)/library.o $(OUT)/exports.map
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) $(KEPT_LINK) -shared -Wl,-soname,$(SONAME) -Wl,-Bsymbolic-functions $(NO_UNDEFINED) \
	    -Wl,--version-script=$(OUT)/exports.map $(filter %.o,$^) -o $@ $(GEMM_LIBS) $(LDLIBS)
	@ln -sf $(@F) $(OUT)/$(SONAME)

# Within the archive only the public symbols stay global, and what the doors call.
$(OUT)/libdarknet-gemm.a: $(OUT)/gemm.o $(LIBRARY_DOORS) $(LIBRARY_REST) $(EXPORTS)
	$(Q)$(LD) -r $(UNGROUP) -o $(OUT)/darknet-gemm.o $(OUT)/gemm.o $(LIBRARY_REST)
	$(Q){ awk '{ print $$1 }' $(EXPORTS); printf '%s\n' gemm_dispatch_wide gemm_find_host gemm_run_darknet; } >$(OUT)/archive.exports
	$(Q)$(OBJCOPY) --keep-global-symbols=$(OUT)/archive.exports $(OUT)/darknet-gemm.o
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(OUT)/darknet-gemm.o $(LIBRARY_DOORS)

$(foreach name,libdarknet-gemm.so libdarknet-gemm.a,$(eval $(call link,$(name),$(OUT)/$(name))))

# ---- make install PREFIX=/usr/local DESTDIR= LIBDIR=lib; BENCH=0: without gemm-bench, which needs Darknet ----
.PHONY: install uninstall
INSTALL_ARGUMENTS = $(OUT) $(call quote,$(PREFIX)) $(VERSION) $(SONAME)
# Made for one Darknet, so this is the one of the last `make layers`.
LAYERS = $(wildcard libdarknet-layers.so)
install: $(OUT)/libdarknet-gemm.so $(OUT)/libdarknet-gemm.a $(if $(filter 0,$(BENCH)),,$(OUT)/bench/gemm_bench) ## install: libraries, headers, gemm-bench and man page: PREFIX LIBDIR DESTDIR SYMBOLS=1
	@DESTDIR=$(call quote,$(DESTDIR)) LIBDIR=$(call quote,$(LIBDIR)) BENCH=$(BENCH) LAYERS=$(call quote,$(LAYERS)) OBJCOPY=$(call quote,$(OBJCOPY)) SYMBOLS=$(SYMBOLS) setup/install.sh install $(INSTALL_ARGUMENTS)

uninstall: ## install: remove what install put there: PREFIX LIBDIR DESTDIR
	@DESTDIR=$(call quote,$(DESTDIR)) LIBDIR=$(call quote,$(LIBDIR)) setup/install.sh uninstall $(INSTALL_ARGUMENTS)

# ---- make dist: what a release publishes ----
.PHONY: dist
DIST = $(BUILD)/darknet-gemm-$(VERSION).tar.xz
dist: | $(BUILD)/made-by-darknet-gemm ## install: the source of this version: build/darknet-gemm-VERSION.tar.xz
	@setup/dist.sh $(VERSION) $(DIST)

.PHONY: deb
# ARCH=riscv64: of another architecture, in a folder of its own
ARCH =
deb: dist | $(BUILD)/packages ## install: the Debian packages, and what lintian says: build/debian; ARCH=riscv64
	@setup/deb.sh $(DIST) $(BUILD)/debian$(if $(ARCH),-$(ARCH)) $(ARCH)

.PHONY: release
release: ## install: compare the version, both changelogs and the tag
	@setup/release.sh
