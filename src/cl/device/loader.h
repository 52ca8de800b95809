/* SPDX-License-Identifier: MIT */
/*
 * OpenCL's functions, found at run time: a program that uses no OpenCL row needs no OpenCL library.
 * For the OpenCL files only; called with gemm_cl_lock held.
 *
 * The names of OpenCL below are macros, so the other files call its functions as usual. A function
 * that is new here needs two lines: one in GEMM_CL_FUNCTIONS, one among the macros.
 */
#ifndef GEMM_CL_LOADER_H
#define GEMM_CL_LOADER_H

#include "cl/configure.h"
#include "cl/device/opencl.h"
#include "util/text.h"

#define GEMM_CL_FUNCTIONS(F)                                                                      \
    F(BuildProgram) F(CreateBuffer) F(CreateCommandQueue) F(CreateContext) F(CreateImage)         \
    F(CreateKernel) F(CreateProgramWithBinary) F(CreateProgramWithSource) F(CreateSubBuffer)      \
    F(EnqueueMapBuffer) F(EnqueueMapImage) F(EnqueueNDRangeKernel) F(EnqueueReadBuffer)           \
    F(EnqueueUnmapMemObject) F(EnqueueWriteBuffer) F(EnqueueWriteBufferRect) F(Finish) F(Flush)   \
    F(GetDeviceIDs) F(GetDeviceInfo) F(GetEventInfo) F(GetEventProfilingInfo) F(GetKernelInfo)    \
    F(GetKernelWorkGroupInfo) F(GetMemObjectInfo) F(GetPlatformIDs) F(GetPlatformInfo)            \
    F(GetProgramBuildInfo) F(GetProgramInfo) F(GetSupportedImageFormats) F(ReleaseCommandQueue)   \
    F(ReleaseContext) F(ReleaseEvent) F(ReleaseKernel) F(ReleaseMemObject) F(ReleaseProgram)      \
    F(RetainCommandQueue) F(SetKernelArg) F(WaitForEvents)

#define GEMM_CL_MEMBER(name) __typeof__(cl##name) *name;
typedef struct gemm_cl_functions {
    GEMM_CL_FUNCTIONS(GEMM_CL_MEMBER)
} gemm_cl_functions;
#undef GEMM_CL_MEMBER

/* Its members are set by gemm_cl_load. */
extern gemm_cl_functions gemm_cl_function;

/*
 * Takes OpenCL's functions from the first library with a platform that has a device. Where the
 * settings name a library, no other one is tried. Else tries the functions that the process has
 * already, such as Oclgrind's, and then the libraries at their usual places. Returns false, and
 * adds to `why` what was tried, when there is none. Once it returned true, later calls do nothing.
 * What was loaded stays loaded.
 */
bool gemm_cl_load(const gemm_cl_configuration *, gemm_text *why);

/* Of cl/device/kernel.c: clReleaseMemObject, and how often it was called. */
cl_int gemm_cl_release_memory(cl_mem);
unsigned long gemm_cl_released_memory(void);

#define clBuildProgram gemm_cl_function.BuildProgram
#define clCreateBuffer gemm_cl_function.CreateBuffer
#define clCreateCommandQueue gemm_cl_function.CreateCommandQueue
#define clCreateContext gemm_cl_function.CreateContext
#define clCreateImage gemm_cl_function.CreateImage
#define clCreateKernel gemm_cl_function.CreateKernel
#define clCreateProgramWithBinary gemm_cl_function.CreateProgramWithBinary
#define clCreateProgramWithSource gemm_cl_function.CreateProgramWithSource
#define clCreateSubBuffer gemm_cl_function.CreateSubBuffer
#define clEnqueueMapBuffer gemm_cl_function.EnqueueMapBuffer
#define clEnqueueMapImage gemm_cl_function.EnqueueMapImage
#define clEnqueueNDRangeKernel gemm_cl_function.EnqueueNDRangeKernel
#define clEnqueueReadBuffer gemm_cl_function.EnqueueReadBuffer
#define clEnqueueUnmapMemObject gemm_cl_function.EnqueueUnmapMemObject
#define clEnqueueWriteBuffer gemm_cl_function.EnqueueWriteBuffer
#define clEnqueueWriteBufferRect gemm_cl_function.EnqueueWriteBufferRect
#define clFinish gemm_cl_function.Finish
#define clFlush gemm_cl_function.Flush
#define clGetDeviceIDs gemm_cl_function.GetDeviceIDs
#define clGetDeviceInfo gemm_cl_function.GetDeviceInfo
#define clGetEventInfo gemm_cl_function.GetEventInfo
#define clGetEventProfilingInfo gemm_cl_function.GetEventProfilingInfo
#define clGetKernelInfo gemm_cl_function.GetKernelInfo
#define clGetKernelWorkGroupInfo gemm_cl_function.GetKernelWorkGroupInfo
#define clGetMemObjectInfo gemm_cl_function.GetMemObjectInfo
#define clGetPlatformIDs gemm_cl_function.GetPlatformIDs
#define clGetPlatformInfo gemm_cl_function.GetPlatformInfo
#define clGetProgramBuildInfo gemm_cl_function.GetProgramBuildInfo
#define clGetProgramInfo gemm_cl_function.GetProgramInfo
#define clGetSupportedImageFormats gemm_cl_function.GetSupportedImageFormats
#define clReleaseCommandQueue gemm_cl_function.ReleaseCommandQueue
#define clReleaseContext gemm_cl_function.ReleaseContext
#define clReleaseEvent gemm_cl_function.ReleaseEvent
#define clReleaseKernel gemm_cl_function.ReleaseKernel
#define clReleaseMemObject gemm_cl_release_memory
#define clReleaseProgram gemm_cl_function.ReleaseProgram
#define clRetainCommandQueue gemm_cl_function.RetainCommandQueue
#define clSetKernelArg gemm_cl_function.SetKernelArg
#define clWaitForEvents gemm_cl_function.WaitForEvents

#endif
