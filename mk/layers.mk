# SPDX-License-Identifier: MIT
# libdarknet-layers.so: whole layers for a Darknet that nobody patches. It is libdarknet-gemm.so, and
# the hook besides, compiled against the headers of that Darknet (DARKNET_SRC, or Debian's package).

LAYERS_SOURCES = src/hook/hook.c src/hook/batch.c $(addprefix src/hook/preload/,doors.c elements.c pass.c slots.c)
# So that the loops of elements.c become vectors.
LAYERS_OPTS = $(if $(filter -O2,$(GEMM_OPTS)),-O3)
# The names of doors.h behind those of libdarknet-gemm.so. It is preloaded alone, so no name has a version.
LAYERS_NAMES = { cat $(EXPORTS); $(CC) $$flags -DHOOK_EXPORTS -E -P src/hook/preload/doors.h | tr ' ' '\n' | awk 'last == "export"; { last = $$0 }'; }
LAYERS_MAP = awk 'BEGIN { print "{ global:" } { print $$1 ";" } END { print "local: *; };" }'

# Compiled each time: the headers are not ours, and another Darknet may be named.
$(OUT)/libdarknet-layers.so: FORCE $(OUT)/gemm.o $(LIBRARY_DOORS) $(LIBRARY_PRELOADED) $(LIBRARY_REST) $(EXPORTS)
	$(Q)flags=$$(CC=$(call quote,$(CC)) CXX=$(call quote,$(CXX)) setup/layers.sh $(call quote,$(DARKNET_SRC)) $(OUT)/layers) && \
	    $(LAYERS_NAMES) | $(LAYERS_MAP) >$(OUT)/layers.map && \
	    $(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -fvisibility=hidden -Isrc $(PREFIX_MAP) $$flags \
	    $(GEMM_OPTS) $(LAYERS_OPTS) $(CPPFLAGS) $(CFLAGS) $(KEPT) -ffp-contract=fast -r -nostdlib $(LAYERS_SOURCES) -o $(OUT)/layers.o
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) $(KEPT_LINK) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic-functions $(NO_UNDEFINED) \
	    -Wl,--version-script=$(OUT)/layers.map $(OUT)/layers.o $(filter %.o,$^) -o $@ $(GEMM_LIBS) $(LDLIBS)

# hook_object OBJECT, SOURCES, NAMES, VARIABLES of setup/layers.sh: the hook and the variants in one object, against the headers of
# DARKNET_SRC. Only the names stay public, which Darknet calls.
define hook_object
	$(Q)flags=$$($(4) CC=$(call quote,$(CC)) CXX=$(call quote,$(CXX)) setup/layers.sh $(call quote,$(DARKNET_SRC)) $(OUT)/layers) && \
	    $(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -fPIC -fno-lto -Isrc $(PREFIX_MAP) $$flags $(GEMM_OPTS) $(LAYERS_OPTS) \
	    -r -nostdlib src/hook/hook.c src/hook/batch.c $(addprefix src/hook/preload/,elements.c slots.c $(2)) $(filter %.o,$^) -o $(call quote,$(1)) && \
	    $(OBJCOPY) $(addprefix -G ,$(3)) $(call quote,$(1))
endef

# What a patched AlexeyAB's Darknet links: OBJECT. Its Makefile asks for this without GPU=1 alone.
hook-object: $(OUT)/gemm.o $(LIBRARY_REST)
	$(call hook_object,$(OBJECT),patched.c,hook_layers hook_layer_changes hook_network_changes,GPU=0 GOAL=hook-object)

# What an AlexeyAB's Darknet that is not patched links: a file with options for the linker.
WRAPPED = parse_network_cfg parse_network_cfg_custom load_network load_network_custom load_weights load_weights_upto \
    free_layer free_layer_custom fuse_conv_batchnorm resize_network
empty =
comma = ,
$(OUT)/darknet-layers.o: FORCE $(OUT)/gemm.o $(LIBRARY_REST)
	$(Q). setup/kind.sh; kind=$$(kind_of $(call quote,$(DARKNET_SRC))); if [ "$${kind%%:*}" != old ] && [ "$$kind" != alexeyab ]; then \
	    echo $(call quote,make wrap: '$(DARKNET_SRC)' is no tree of AlexeyAB: give DARKNET_SRC=folder. For other Darknets there are make patch and make layers) >&2; exit 1; fi
	$(call hook_object,$@,wrapped.c pass.c,$(addprefix __wrap_,$(WRAPPED)),GOAL=wrap)
$(OUT)/darknet-layers.link: $(OUT)/darknet-layers.o
	@echo '$(subst $(empty) ,,-Wl$(WRAPPED:%=$(comma)--wrap=%)) $(abspath $<) -ldl -lm -lpthread' >$@

.PHONY: wrap
wrap: $(OUT)/darknet-layers.link ## any Darknet: what AlexeyAB's links without a patch, and its line: DARKNET_SRC
	@echo $(call quote,Now$(comma) with the switches of that Darknet: rm -f '$(DARKNET_SRC)/darknet'; make -C '$(DARKNET_SRC)' AVX=1 OPENMP=1 LDFLAGS="-lm -pthread -lgomp @$(abspath $<)")

$(eval $(call link,libdarknet-layers.so,$(OUT)/libdarknet-layers.so))

.PHONY: layers hook-object
layers: libdarknet-layers.so ## any Darknet: libdarknet-layers.so for one that is not patched: DARKNET_SRC or Debian's
	@echo $(call quote,Now$(comma) before the command of that Darknet: LD_PRELOAD='$(CURDIR)/$<')
	@echo 'It reaches programs that use libdarknet.so, such as those in Python. An executable that holds Darknet itself, such as'
	@echo 'darknet of Debian, is not reached: make patch and make wrap are for such programs.'
