// Numpy arrays of what the core has computed.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <vector>

namespace zf {

template <class T, int kDimensions>
using NumpyArray = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<kDimensions>>;

// An array that owns its values. Needs as many values as the shape says.
template <int kDimensions, class T>
NumpyArray<T, kDimensions> to_numpy(std::vector<T> values, std::initializer_list<size_t> shape) {
    auto* held = new std::vector<T>(std::move(values));
    const nanobind::capsule owner(held,
                                  [](void* p) noexcept { delete static_cast<decltype(held)>(p); });
    return NumpyArray<T, kDimensions>(held->data(), shape, owner);
}

}  // namespace zf
