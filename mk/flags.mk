# SPDX-License-Identifier: MIT
# Compiler flags. Each configuration has a folder of its own under $(BUILD).
#
# A file is compiled with GEMM_FLAGS GEMM_OPTS FILE_OPTS CPPFLAGS CFLAGS KEPT ISA, in this order: the user's
# flags override the project's optimisation, but never what a file needs to work.

# Lines for a debugger, but no variables, which take half of the time and most of a file. -g1 stands
# behind -gdwarf-4, which alone would ask for all. DWARF 4, because Debian 12's valgrind cannot read the
# DWARF 5 of clang.
LINES = -gdwarf-4 -g1
GEMM_OPTS = -O2 $(LINES)
DARKNET_OPTS = -Ofast
# The compiler is asked once, and only when it must be there: `make detect` may have to install it.
MACHINE = $(eval MACHINE := $$(shell $(CC) -dumpmachine))$(MACHINE)
# Added for the micro-kernels of packed. gcc 14 would give the first and the last turns of a panel's loops code
# of their own, a tenth of the library. clang does not know the flag.
WHOLE_LOOPS = $(eval WHOLE_LOOPS := $$(shell $(CC) -Werror -fno-split-loops -E -x c /dev/null >/dev/null 2>&1 && echo -fno-split-loops))$(WHOLE_LOOPS)
KERNEL_OPTS = -O3 $(WHOLE_LOOPS)
CONFIG = release
ifeq ($(DEBUG),1)
CONFIG = debug
GEMM_OPTS = -O0 -g -gdwarf-4
KERNEL_OPTS =
STUDY_OPTS = -O0
DARKNET_OPTS = $(GEMM_OPTS)
endif
ifeq ($(PROFILE),1)
CONFIG = gprof$(subst $() ,_,$(STUDY_OPTS))
DARKNET_OPTS = -Ofast $(LINES) -pg -no-pie
endif
ifneq ($(SANITIZE),0)
KERNEL_OPTS =
STUDY_OPTS = -O1
DARKNET_OPTS = $(GEMM_OPTS)
endif
ifeq ($(SANITIZE),thread)
CONFIG = tsan
GEMM_OPTS = -O1 $(LINES) -fsanitize=thread
endif
ifeq ($(SANITIZE),1)
CONFIG = asan
GEMM_OPTS = -O1 $(LINES) -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
endif
# Behind the user's flags, because results would be wrong with -Ofast, and names of gemm.o are made local,
# which link-time optimisation does not know. Threads write beside each other: no store may be invented.
KEPT = $(KEPT_ARITHMETIC) $(KEPT_OBJECT)
KEPT_ARITHMETIC = -fno-fast-math -ffp-contract=off $(if $(WHOLE_LOOPS),-fno-allow-store-data-races)
KEPT_OBJECT = -fPIC -fno-lto
# With -Ofast or fast arithmetic gcc and clang link code that makes denormals 0 in the whole process.
KEPT_LINK = -O2 -fno-fast-math -fno-unsafe-math-optimizations -fno-lto
ifneq ($(OPENCL),1)
CONFIG := $(CONFIG)-nocl
endif
ifneq ($(CROSS_COMPILE),)
CONFIG := $(CONFIG)-$(notdir $(CROSS_COMPILE:-=))
endif
OUT = $(BUILD)/$(CONFIG)
OBJ = $(OUT)/obj

# What is built does not hold the folder that it was built in.
PREFIX_MAP = -ffile-prefix-map=$(abspath $(BUILD))=build -ffile-prefix-map=$(CURDIR)=.
# 32-bit x86: SSE2 instead of the x87, whose registers of 80 bits round twice. Debian 13's i386 has SSE2.
IS_I386 = $(filter i386-% i486-% i586-% i686-%,$(MACHINE))
GEMM_FLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra -fPIC -MMD -MP -Isrc $(if $(IS_I386),-msse2 -mfpmath=sse) $(PREFIX_MAP)
GEMM_LIBS = -lm -pthread -ldl
# A compiler cache where one is installed and can write. CACHE= or CCACHE_DISABLE=1: none.
FIND_CACHE = folder="$$(ccache -k cache_dir 2>/dev/null)/tmp" && mkdir -p "$$folder" 2>/dev/null && [ -w "$$folder" ] && echo ccache
CACHE = $(eval CACHE := $(if $(CCACHE_DISABLE)$(filter ccache %/ccache,$(firstword $(CC))),,$$(shell $$(FIND_CACHE))))$(CACHE)
# What the compiler says about FILE.o stays in FILE.said, for tests/system/test_warnings.sh.
COMPILE = $(Q)$(CACHE) $(CC) $(GEMM_FLAGS) $(INCLUDES) $(GEMM_OPTS) $(FILE_OPTS) $(CPPFLAGS) $(CFLAGS) $(KEPT) $(ISA) -c $< -o $@ \
    2>$(@:.o=.said); status=$$?; cat $(@:.o=.said) >&2; exit $$status
# A program that needs libdarknet.so finds it in the folder above its own.
ORIGIN = -Wl,-rpath,'$$ORIGIN/..'
LINK = $(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) $(KEPT_LINK) $(FILE_OBJECTS) $(filter %.o %.a %.so,$^) -o $@ $(if $(filter %.so,$^),$(ORIGIN)) $(GEMM_LIBS) $(FILE_LIBS) $(LDLIBS)

$(OBJ)/%.o: %.c $(OUT)/flags
	$(PROGRESS)
	@mkdir -p $(@D)
	$(COMPILE)

# The first of all files of a build: a folder is taken for BUILD only when it is empty, because
# `make clean` removes it. git sees nothing of it, whatever its name is.
$(BUILD)/made-by-darknet-gemm:
	@mkdir -p $(BUILD)
	@if [ -n "$$(ls -A $(BUILD))" ]; then \
	    echo '$(BUILD) holds files that are not of this Makefile: give BUILD an empty folder' >&2; exit 1; fi
	@echo '*' >$(BUILD)/.gitignore
	@touch $@

# The first recipe of a build that compiles starts the lines that say how far it is.
# A make that another recipe calls starts none, unless it gets LEVEL=0.
LEVEL = $(MAKELEVEL)
PROGRESS = $(if $(filter 00,$(V)$(LEVEL)),$(eval PROGRESS =)$(START_PROGRESS))
MAKE_PROGRAM := $(MAKE)
START_PROGRESS = @MAKEFLAGS=$(call quote,$(MAKEOVERRIDES)) setup/progress.sh $$PPID $(BUILD) $(MAKE_PROGRAM) $(MAKECMDGOALS) &

# Other flags: everything is compiled again.
ALL_FLAGS = $(CC) $(CXX) $(LD) $(AR) $(GEMM_FLAGS) $(GEMM_OPTS) $(KERNEL_OPTS) $(STUDY_OPTS) $(DARKNET_OPTS) $(CPPFLAGS) $(CFLAGS) $(KEPT) $(KEPT_LINK) $(LDFLAGS) $(LDLIBS)
$(OUT)/flags: $(if $(wildcard $(OUT)/flags),$(call unless,$(ALL_FLAGS),$(OUT)/flags)) | $(BUILD)/packages
	@mkdir -p $(@D) && rm -rf $(OUT)/darknet-obj
	@printf '%s\n' $(call quote,$(ALL_FLAGS)) >$@

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
