# SPDX-License-Identifier: MIT
# make fuzz: clang's libFuzzer with Address- and UndefinedBehaviorSanitizer, on what reads the files of strangers. It
# compiles Darknet and these readers alone, because rows with sanitizers take minutes.

# FUZZ_BITS=32: for i386
FUZZ_BITS = 64
$(if $(filter 32 64,$(FUZZ_BITS)),,$(error FUZZ_BITS='$(FUZZ_BITS)' is neither 32 nor 64))
FUZZ = $(BUILD)/fuzz$(filter 32,$(FUZZ_BITS))
# The headers of the kernel are the same for i386. Debian has a link to them in gcc-multilib alone.
FUZZ_CC = clang $(if $(filter 32,$(FUZZ_BITS)),-m32 -idirafter /usr/include/x86_64-linux-gnu)
FUZZ_TARGETS = cfg weights data tree picture int8 tuning program environment python
# How long each target runs; the same seed draws the same inputs
SECONDS = 60
FUZZ_SEED = 1
FUZZ_OPTS = -O1 $(LINES) -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=pointer-overflow,shift-base -fno-sanitize-recover=all
FUZZ_FLAGS = $(FUZZ_OPTS) -fsanitize=fuzzer-no-link -Isrc -Itests -I$(DARKNET)/include -I$(DARKNET)/src -D_GNU_SOURCE -Wno-unused-parameter $(FUZZ_CFLAGS)
# The functions of tests/fuzz/fuzz.c that readers get.
FUZZ_WRAPS = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=fopen,--wrap=fclose,--wrap=exit,--wrap=stderr

FUZZ_SOURCES = $(addprefix tests/fuzz/,fuzz.c darknet.c own.c python.c alone.c) src/int8/scales.c src/tune/table.c src/cl/form.c src/cl/rows.c \
    src/op/shape.c src/op/op.c src/cl/device/cache.c src/driver/settings.c src/hook/hook.c src/hook/batch.c src/hook/share.c src/hook/pjreddie.c $(addprefix src/util/,caches.c cpu.c file.c number.c text.c)
FUZZ_OBJECTS = $(FUZZ_SOURCES:%.c=$(FUZZ)/%.o) \
    $(addprefix $(FUZZ)/darknet/,$(filter-out image_opencv.o,$(shell sed -n 's/^OBJ *= *//p' $(DARKNET)/Makefile 2>/dev/null)))

$(FUZZ)/%.o: %.c mk/fuzz.mk | $(DARKNET).done
	@mkdir -p $(@D)
	$(Q)$(CACHE) $(FUZZ_CC) -std=c11 -Wall -Wextra -MMD -MP $(FUZZ_FLAGS) -c $< -o $@

$(FUZZ)/darknet/%.o: $(DARKNET)/src/%.c $(DARKNET).done mk/fuzz.mk
	@mkdir -p $(@D)
	$(Q)$(CACHE) $(FUZZ_CC) -w $(FUZZ_FLAGS) -include $(DARKNET)/src/checked.h -c $< -o $@

$(FUZZ)/fuzz: $(FUZZ_OBJECTS)
	$(Q)$(FUZZ_CC) $(FUZZ_OPTS) -fsanitize=fuzzer $(FUZZ_CFLAGS) $(FUZZ_WRAPS) $^ -o $@ -lm -pthread -ldl

-include $(shell find $(FUZZ) -name '*.d' 2>/dev/null)

.PHONY: fuzz $(addprefix fuzz-,$(FUZZ_TARGETS))
# Which files Darknet has is known only when it is there.
fuzz: $(DARKNET).done
	@$(MAKE) $(addprefix fuzz-,$(FUZZ_TARGETS))
$(addprefix fuzz-,$(FUZZ_TARGETS)): fuzz-%: $(FUZZ)/fuzz
	@tests/fuzz/run.sh $(FUZZ) $* $(SECONDS) $(FUZZ_SEED) $(DARKNET)/src

# For `make test`: replays tests/fuzz/found/ in the build at hand.
$(OUT)/tests/replay: $(patsubst %,$(OBJ)/tests/fuzz/%.o,replay fuzz darknet own python) $(OUT)/libdarknet.a
	@mkdir -p $(@D)
	$(LINK)
$(OUT)/tests/replay: FILE_LIBS = $(FUZZ_WRAPS)
