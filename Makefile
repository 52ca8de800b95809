# SPDX-License-Identifier: MIT
# Darknet with another matrix multiply. `make help` lists the targets.

# ---- Switches: make OPENCL=0 DEBUG=1 ... ----
# OPENCL=0: without OpenCL; its rows then say why they cannot run. The default of a cross build.
OPENCL=1
DEBUG=0
# SANITIZE=1: AddressSanitizer and UndefinedBehaviorSanitizer; SANITIZE=thread: ThreadSanitizer
SANITIZE=0
# PROFILE=1: for gprof
PROFILE=0
# V=1: every command is shown
V=0
# INSTALL=0: `make detect` and `make test` install no Debian packages, and fail when some are missing
INSTALL=1
# The prefix of the compiler and the binutils, such as aarch64-linux-gnu-
CROSS_COMPILE=
# The folder of everything that is built; it may lie anywhere, in a path without blanks
BUILD=build
# Compiler flags of the articles' variants. Darknet's own are -Ofast.
STUDY_OPTS=-Ofast
# Yours: CFLAGS CPPFLAGS LDFLAGS LDLIBS. The project's own flags have other names and stay.

ifneq ($(CROSS_COMPILE),)
OPENCL=0
endif
CC=$(CROSS_COMPILE)gcc
CXX=$(CROSS_COMPILE)g++
AR=$(CROSS_COMPILE)ar
LD=$(CROSS_COMPILE)ld
OBJCOPY=$(CROSS_COMPILE)objcopy

# ---- What the targets below take ----
GEMM_IMPL ?= auto
CFG       ?= cfg/yolov3-tiny.cfg
IMAGE     ?= data/kite.jpg
IMAGES    ?= data/kite.jpg data/dog.jpg data/person.jpg
THREADS   ?= 1,2
ROUNDS    ?= 9
PREFIX    ?= /usr/local
LIBDIR    ?= lib
# Trained networks for the tests
MODELS    ?= ../shared/models
# PEERS_PYTHON=python3: make bench-peers uses this Python, and what it has, instead of PyPI
# WEIGHTS=file, WEIGHTS_URLS="url ..." and DARKNET_SRC=dir: docs/development.md

# Not every shell makes a folder of ~ behind "=".
$(foreach name,CFG IMAGE IMAGES WEIGHTS NAMES DARKNET_SRC PREFIX DESTDIR,$(if $(filter ~/%,$($(name))),$(eval \
    override $(name) := $(patsubst ~/%,$(HOME)/%,$($(name))))))

# ---- Checks ----
ifeq ($(filter grouped-target,$(.FEATURES)),)
$(error GNU make 4.3 or later is needed; this is $(MAKE_VERSION))
endif
$(foreach switch,OPENCL DEBUG PROFILE V INSTALL,$(if $(filter 0 1,$($(switch))),,$(error \
    $(switch)='$($(switch))' is neither 0 nor 1)))
$(if $(filter 0 1 thread,$(SANITIZE)),,$(error SANITIZE='$(SANITIZE)' is none of 0, 1 and thread))
ifneq ($(words $(BUILD) $(CURDIR)),2)
$(error GNU make cannot work with blanks in BUILD='$(BUILD)' or in the path '$(CURDIR)')
endif

# ---- How make works here ----
# As many jobs as processors, unless -j was given here or to the make that calls this one.
INHERITED := $(shell printenv MAKEFLAGS)
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS) $(INHERITED)),)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-print-directory
# A decimal point, bytes and one order, whatever the user's locale. Each script that a user may start has it too.
export LC_ALL = C
ifneq ($(V),1)
Q=@
endif
# $(call quote,TEXT): TEXT as one word of the shell
quote = '$(subst ','\'',$(1))'
# $(call unless,TEXT,FILE): FORCE, so that a recipe runs, unless the FILE holds this TEXT
unless = $(if $(and $(findstring <$(1)>,<$(file <$(2))>),$(findstring <$(file <$(2))>,<$(1)>)),,FORCE)
# $(eval $(call link,NAME,FILE)): NAME in the project's folder is a link to FILE, of the configuration built last
define link
$(1): $(2) $(if $(and $(realpath $(1)),$(filter $(realpath $(1)),$(realpath $(2)))),,FORCE)
	@setup/link.sh $(2) $(1)
endef
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help packages clean FORCE
.DEFAULT_GOAL = all

all: darknet libdarknet.so gemm-bench libdarknet-gemm.so libdarknet-gemm.a data ## build: build darknet, libdarknet.so, gemm-bench and libdarknet-gemm (the default)

# "target: ... ## GROUP: what it does", with its variables behind a colon
help:
	@awk -F ':.*## |: ' -v groups='build,detect,measure,any Darknet,install,test' ' \
	    /^[a-z-]+:.*## / { text = $$0; sub(/.*## [^:]*: /, "", text); lines[$$2] = lines[$$2] sprintf("  make %-12s %s\n", $$1, text) } \
	    END { for (i = 1; i <= split(groups, group, ","); ++i) printf "%s%s\n%s\n", toupper(substr(group[i], 1, 1)), substr(group[i], 2), lines[group[i]] }' $(MAKEFILE_LIST)
	@echo 'Switches, explained at the top of the Makefile: OPENCL DEBUG SANITIZE PROFILE V INSTALL'
	@echo 'CROSS_COMPILE BUILD STUDY_OPTS'

include mk/packages.mk
include mk/flags.mk
include mk/gemm.mk
include mk/library.mk
include mk/layers.mk
include mk/darknet.mk
include mk/wheel.mk
include mk/programs.mk
include mk/weights.mk
include mk/measure.mk
include mk/demo.mk
include mk/fuzz.mk
include mk/test.mk

clean: ## build: remove all that was built, the fetched Darknet included, and nothing else
	@setup/clean.sh $(BUILD)
