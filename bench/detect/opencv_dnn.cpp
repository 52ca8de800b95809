// OpenCV's DNN module behind bench/detect/opencv_dnn.h: the only C++ of the project. It is
// built where OpenCV is installed.
#include "detect/opencv_dnn.h"

#include <algorithm>
#include <cstdio>
#include <opencv2/dnn.hpp>

namespace {
struct network {
    cv::dnn::Net net;
    std::vector<cv::String> outputs;
    std::vector<cv::Mat> results;
};
}

void *opencv_dnn_load(const char *cfg, const char *weights)
try {
    network *n = new network{cv::dnn::readNetFromDarknet(cfg, weights), {}, {}};
    n->net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    n->net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
    n->outputs = n->net.getUnconnectedOutLayersNames();
    return n;
} catch (const cv::Exception &e) {
    std::fprintf(stderr, "OpenCV: %s\n", e.what());
    return nullptr;
}

void opencv_dnn_forward(void *net, const float *image, int c, int h, int w, int threads)
{
    network *n = static_cast<network *>(net);
    const int shape[] = {1, c, h, w};
    cv::setNumThreads(threads);
    n->net.setInput(cv::Mat(4, shape, CV_32F, const_cast<float *>(image)));
    n->net.forward(n->results, n->outputs);
}

int opencv_dnn_output(void *net, const char *layer, float *values, int count)
try {
    network *n = static_cast<network *>(net);
    if (n->net.getLayerId(layer) < 0) return 0;
    const cv::Mat m = n->net.forward(layer);
    const int total = static_cast<int>(m.total());
    std::copy_n(m.ptr<float>(), std::min(total, count), values);
    return total;
} catch (const cv::Exception &) {
    return 0;
}

void opencv_dnn_free(void *net) { delete static_cast<network *>(net); }

const char *opencv_dnn_version(void) { return CV_VERSION; }
