# SPDX-License-Identifier: MIT
# The wheel for Python: python/. The names that --wrap takes are explained in src/python/calls.c.

WHEEL_WRAPS = exit pause printf stderr __assert_fail

$(OBJ)/src/python/calls.o: INCLUDES = -I$(DARKNET)/include
$(OBJ)/src/python/calls.o: | $(DARKNET).done

# -Bsymbolic: Python's process may have functions of the same name, as glibc has error().
$(OUT)/wheel/libdarknet.so: $(OBJ)/src/python/calls.o $(OUT)/libdarknet.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) $(KEPT_LINK) -shared -s -Wl,-Bsymbolic $(NO_UNDEFINED) \
	    -Wl,-soname,libdarknet-gemm-python.so $(WHEEL_WRAPS:%=-Wl,--wrap=%) $< \
	    -Wl,--whole-archive $(OUT)/libdarknet.a -Wl,--no-whole-archive -o $@ $(GEMM_LIBS) $(LDLIBS)

# The folder that gets it
WHEELS = $(BUILD)/wheel

.PHONY: wheel
wheel: $(OUT)/wheel/libdarknet.so data ## install: the wheel for pip, in build/wheel: CROSS_COMPILE
	@READELF=$(call quote,$(CROSS_COMPILE)readelf) \
	    python3 -B python/wheel.py $(VERSION) $(firstword $(subst -, ,$(MACHINE))) $< $(WHEELS)
