# SPDX-License-Identifier: MIT
# The Debian packages of each target. `make detect`, `make test` and `make deb` install those that are
# missing; every other target only says which ones are.

# `make test ON=qemu` is the goal test-qemu here.
GOALS = $(patsubst test-all,test,$(patsubst test,test$(addprefix -,$(ON)),$(MAKECMDGOALS)))

BUILD_PACKAGES = gcc g++ libc6-dev binutils make patch tar xz-utils curl ca-certificates
# Optional, as patterns of the shell, because names differ between releases: setup/packages.sh takes
# what the system offers. Other people's gemm, for comparison and its tests only.
REF_PACKAGES   = libopenblas0-pthread libblis[0-9]-openmp libdnnl[0-9]*
BENCH_PACKAGES = gnuplot-nox
# Turns Markdown into the page of `make report`: small, and it knows tables.
REPORT_PACKAGES = cmark-gfm
ifeq ($(OPENCL),1)
BUILD_PACKAGES += ocl-icd-opencl-dev pocl-opencl-icd
REF_PACKAGES   += libclblast[0-9]*
CL_TEST_PACKAGES = oclgrind
endif

# Programs that nobody here built, which the library is tested with, and another C library.
HOST_PACKAGES = darknet libblas-test musl-tools python3-distributed

PACKAGES_gprof    = $(BENCH_PACKAGES)
PACKAGES_loops    = $(BENCH_PACKAGES)
PACKAGES_explain  = $(BENCH_PACKAGES) valgrind binutils
PACKAGES_bench    = $(BENCH_PACKAGES)
PACKAGES_bench-cl = $(BENCH_PACKAGES)
PACKAGES_deb      = build-essential dpkg-dev debhelper lintian git $(if $(ARCH),crossbuild-essential-$(ARCH) opencl-c-headers)
PACKAGES_wheel    = python3
PACKAGES_packages = $(BENCH_PACKAGES) $(REPORT_PACKAGES)
PACKAGES_test     = $(BENCH_PACKAGES) $(REPORT_PACKAGES) python3-numpy python3-pil python3-venv cmake pkg-config man-db git clang valgrind time python3 locales
PACKAGES_fuzz     = clang libclang-rt-dev $(if $(filter 32,$(FUZZ_BITS)),libc6-dev-i386)
PACKAGES_test-qemu = qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf libc6-dev-armhf-cross
PACKAGES_test-debian = mmdebstrap git
PACKAGES_test-packages = mmdebstrap git dpkg-dev
# The compilers of a cross build have its triple in their names.
PACKAGES_test-quick = $(if $(CROSS_COMPILE),qemu-user gcc-$(CROSS_COMPILE:-=) g++-$(CROSS_COMPILE:-=),$(PACKAGES_test))

PACKAGES_test-opencl = python3 python3-venv $(if $(filter llvmpipe freedreno,$(OPENCLS)),mmdebstrap)

OPTIONAL_bench    = $(REF_PACKAGES)
OPTIONAL_bench-cl = $(REF_PACKAGES)
OPTIONAL_packages = $(REF_PACKAGES)
# For FUZZ_BITS=32. gcc-multilib is not taken, because cross compilers conflict with it.
OPTIONAL_fuzz     = $(if $(filter 32,$(FUZZ_BITS)),lib32stdc++-[0-9]*-dev)
# A browser for the page of `make report`
OPTIONAL_test     = $(if $(filter test-all,$(MAKECMDGOALS)),chromium) $(REF_PACKAGES) $(CL_TEST_PACKAGES) $(HOST_PACKAGES)
OPTIONAL_test-quick = $(if $(CROSS_COMPILE),,$(OPTIONAL_test))
OPTIONAL_test-opencl = $(REF_PACKAGES)

INSTALLING = $(filter packages detect test fuzz test-qemu test-opencl test-debian test-packages deb $(if $(filter command,$(origin INSTALL)),test-quick),$(GOALS))

WANTED_PACKAGES = $(BUILD_PACKAGES) $(foreach goal,$(GOALS),$(PACKAGES_$(goal)))
WANTED_OPTIONAL = $(foreach goal,$(GOALS),$(OPTIONAL_$(goal)))
LOOK_FOR_PACKAGES = setup/packages.sh $(if $(INSTALLING),$(if $(filter 0,$(INSTALL)),require,install),name) \
    $(WANTED_PACKAGES) -- $(foreach pattern,$(WANTED_OPTIONAL),'$(pattern)')

packages: ## build: install the Debian packages for building and measuring
	@$(LOOK_FOR_PACKAGES)

# Holds what was found. Status 3: some are missing, and were named.
$(BUILD)/packages: $(wildcard /var/lib/dpkg/status) | $(BUILD)/made-by-darknet-gemm
	@$(LOOK_FOR_PACKAGES) && printf '%s\n' $(call quote,$(sort $(file <$(BUILD)/packages) $(WANTED_PACKAGES) $(WANTED_OPTIONAL))) >$@ || [ $$? = 3 ]
$(BUILD)/packages: $(if $(filter-out $(file <$(BUILD)/packages),$(WANTED_PACKAGES) $(WANTED_OPTIONAL)),FORCE)
