# SPDX-License-Identifier: MIT
# libdarknet-layers.so: whole layers for a Darknet that nobody patches. It is libdarknet-gemm.so, and
# the hook besides, compiled against the headers of that Darknet (DARKNET_SRC, or Debian's package).

LAYERS_SOURCES = src/hook/hook.c $(addprefix src/hook/preload/,doors.c elements.c slots.c)
# So that the loops of elements.c become vectors.
LAYERS_OPTS = $(if $(filter -O2,$(GEMM_OPTS)),-O3)
# The names of doors.h behind those of libdarknet-gemm.so. It is preloaded alone, so no name has a version.
LAYERS_NAMES = { cat $(EXPORTS); $(CC) $$flags -DHOOK_EXPORTS -E -P src/hook/preload/doors.h | tr ' ' '\n' | awk 'last == "export"; { last = $$0 }'; }
LAYERS_MAP = awk 'BEGIN { print "{ global:" } { print $$1 ";" } END { print "local: *; };" }'

# Compiled each time: the headers are not ours, and another Darknet may be named.
$(OUT)/libdarknet-layers.so: FORCE $(OUT)/gemm.o $(LIBRARY_DOORS) $(LIBRARY_REST) $(EXPORTS)
	$(Q)flags=$$(CC=$(call quote,$(CC)) CXX=$(call quote,$(CXX)) setup/layers.sh $(call quote,$(DARKNET_SRC)) $(OUT)/layers) && \
	    $(LAYERS_NAMES) | $(LAYERS_MAP) >$(OUT)/layers.map && \
	    $(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -fPIC -fvisibility=hidden -fno-lto -Isrc $(PREFIX_MAP) $$flags \
	    $(GEMM_OPTS) $(LAYERS_OPTS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic-functions $(NO_UNDEFINED) \
	    -Wl,--version-script=$(OUT)/layers.map $(LAYERS_SOURCES) $(filter %.o,$^) -o $@ $(GEMM_LIBS) $(LDLIBS)

# The hook and the variants in one object, OBJECT, which a patched AlexeyAB's Darknet links. Only what
# Darknet calls stays public.
PATCHED_SOURCES = src/hook/hook.c $(addprefix src/hook/preload/,elements.c patched.c slots.c)
hook-object: $(OUT)/gemm.o $(LIBRARY_REST)
	$(Q)flags=$$(CC=$(call quote,$(CC)) CXX=$(call quote,$(CXX)) setup/layers.sh $(call quote,$(DARKNET_SRC)) $(OUT)/layers) && \
	    $(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -fPIC -fno-lto -Isrc $(PREFIX_MAP) $$flags $(GEMM_OPTS) $(LAYERS_OPTS) \
	    -r -nostdlib $(PATCHED_SOURCES) $(filter %.o,$^) -o $(call quote,$(OBJECT)) && \
	    $(OBJCOPY) -G hook_layers -G hook_layer_changes -G hook_network_changes $(call quote,$(OBJECT))

libdarknet-layers.so: %: $(OUT)/% FORCE
	@setup/link.sh $< $@

.PHONY: layers hook-object
layers: libdarknet-layers.so ## build libdarknet-layers.so for a Darknet that is not patched: DARKNET_SRC, or Debian's package
