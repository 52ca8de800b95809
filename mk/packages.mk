# The Debian packages of each target. `make detect`, `make test` and `make test-qemu` install those
# that are missing; every other target only says which ones are.

BUILD_PACKAGES = gcc g++ libc6-dev binutils make patch tar xz-utils curl ca-certificates
# Other people's gemm, for comparison and its tests only.
REF_PACKAGES   = libopenblas0-pthread libblis4-openmp libdnnl2
BENCH_PACKAGES = gnuplot-nox
# Turns Markdown into the page of `make report`: small, and it knows tables.
REPORT_PACKAGES = cmark-gfm
ifeq ($(OPENCL),1)
BUILD_PACKAGES += ocl-icd-opencl-dev pocl-opencl-icd
REF_PACKAGES   += libclblast1
CL_TEST_PACKAGES = oclgrind
endif

PACKAGES_gprof    = $(BENCH_PACKAGES)
PACKAGES_loops    = $(BENCH_PACKAGES)
PACKAGES_explain  = $(BENCH_PACKAGES) valgrind binutils
PACKAGES_bench    = $(BENCH_PACKAGES) $(REF_PACKAGES)
PACKAGES_bench-cl = $(REF_PACKAGES)
PACKAGES_packages = $(BENCH_PACKAGES) $(REF_PACKAGES) $(REPORT_PACKAGES)
# Programs that nobody here built, which the library is tested with, and what finds it installed.
LIBRARY_TEST_PACKAGES = darknet libblas-test python3-numpy cmake pkg-config man-db
PACKAGES_test     = $(BENCH_PACKAGES) $(REF_PACKAGES) $(REPORT_PACKAGES) $(CL_TEST_PACKAGES) $(LIBRARY_TEST_PACKAGES) \
    clang valgrind time python3
PACKAGES_test-qemu = qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross

INSTALLING = $(filter packages detect test test-qemu,$(MAKECMDGOALS))

packages: ## install the Debian packages for building and measuring
	@setup/packages.sh $(if $(INSTALLING),$(if $(filter 0,$(INSTALL)),require,install),name) \
	    $(BUILD_PACKAGES) $(foreach goal,$(MAKECMDGOALS),$(PACKAGES_$(goal)))
