// What Python hands over, read with care: a mistake there is an error and not a crash here.
#pragma once
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <algorithm>
#include <cmath>

#include "types.hpp"

namespace tape {

struct PythonError {};

inline long long integer(PyObject *value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) return overflow > 0 ? BEYOND : -BEYOND;
    if (number == -1 && PyErr_Occurred()) throw PythonError{};
    return std::max<long long>(-BEYOND, std::min<long long>(BEYOND, number));
}

// What Python has checked already, so that a mistake there is an error and not a crash here.
inline void require(bool holds, const char *what) {
    if (holds) return;
    PyErr_SetString(PyExc_ValueError, what);
    throw PythonError{};
}

// An integer below 2^124 in size.
inline __int128 wide(PyObject *value) {
    PyObject *const width = PyLong_FromLong(62), *const mask = PyLong_FromLongLong((1LL << 62) - 1);
    PyObject *const high = width ? PyNumber_Rshift(value, width) : nullptr, *const low = mask ? PyNumber_And(value, mask) : nullptr;
    Py_XDECREF(width);
    Py_XDECREF(mask);
    const __int128 number = high && low ? (__int128(PyLong_AsLongLong(high)) << 62) + PyLong_AsLongLong(low) : 0;
    Py_XDECREF(high);
    Py_XDECREF(low);
    if (PyErr_Occurred()) throw PythonError{};
    return number;
}

inline int index(PyObject *value, int count) {
    const long long number = integer(value);
    require(number >= 0 && number < count, "an index is out of range");
    return int(number);
}

inline Amount amount(PyObject *value, Amount most) {
    const Amount number = integer(value);
    require(number >= 0 && number <= most, "an amount is out of range");
    return number;
}

inline double real(PyObject *value) {
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) throw PythonError{};
    require(std::isfinite(number), "expected finite numbers");
    return number;
}

inline PyObject *item(PyObject *tuple, Py_ssize_t i) {
    PyObject *found = PyTuple_GetItem(tuple, i);
    if (!found) throw PythonError{};
    return found;
}

inline Py_ssize_t size(PyObject *tuple) {
    const Py_ssize_t count = PyTuple_Size(tuple);
    if (count < 0) throw PythonError{};
    return count;
}

// The integers of an array of one or two dimensions that Python checked: so many rows and columns, of this width.
template <class Number> class Array {
  public:
    Array(PyObject *object, std::size_t rows, std::size_t columns = 1) {
        if (PyObject_GetBuffer(object, &view_, PyBUF_STRIDED_RO) < 0) throw PythonError{};
        const bool fits = view_.itemsize == sizeof(Number) && (view_.ndim == 1 || view_.ndim == 2) &&
                          view_.shape[0] == Py_ssize_t(rows) &&
                          (view_.ndim == 1 ? 1 : view_.shape[1]) == Py_ssize_t(columns);
        if (!fits) PyBuffer_Release(&view_);
        require(fits, "an array has another form or width than expected");
        down_ = view_.strides[0];
        nothing_ = view_.ndim == 2 && down_ == 0;
        const bool whole = view_.ndim == 1 || nothing_ || columns < 2 || view_.strides[1] == Py_ssize_t(sizeof(Number));
        if (!whole) PyBuffer_Release(&view_);
        require(whole, "the columns of an array are expected side by side");
    }
    ~Array() { PyBuffer_Release(&view_); }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;

    const Number *row(std::size_t row) const {
        return reinterpret_cast<const Number *>(static_cast<const char *>(view_.buf) + Py_ssize_t(row) * down_);
    }
    Number operator()(std::size_t i) const { return *row(i); }

    // Whether it is one of the tables of zeros that take no memory: all its numbers are one.
    bool nothing() const { return nothing_; }

  private:
    Py_buffer view_;
    Py_ssize_t down_;
    bool nothing_;
};

}  // namespace tape
