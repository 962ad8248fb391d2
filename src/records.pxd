"""What the evaluator of records uses of Python's and the project's C functions, on references that it counts itself."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "fastfilter/text.h" nogil:
    ctypedef struct ff_bytes:
        const uint8_t *data
        int64_t length

    int ff_find_quickly(ff_bytes text, ff_bytes needle, bint ignore_case)
    bint ff_parse_timestamp(ff_bytes text, int64_t *seconds, int32_t *nanoseconds)
    bint ff_is_plain_number(ff_bytes text)
    double ff_parse_double(ff_bytes text)


cdef extern from "fastfilter/bytes.h" nogil:
    bint ff_same_bytes(const void *left, const void *right, size_t length)


cdef extern from *:
    """
    /* Before 3.12 a string could be without its characters until they were asked for. */
    #if PY_VERSION_HEX < 0x030C0000
    #define FF_IS_TEXT(object) (PyUnicode_CheckExact(object) && PyUnicode_IS_READY(object))
    #else
    #define FF_IS_TEXT(object) PyUnicode_CheckExact(object)
    #endif
    """
    bint FF_IS_TEXT(PyObject *object)
    bint likely(bint condition)  # Cython's own
    bint unlikely(bint condition)


cdef extern from "Python.h":
    # Borrowed references, and no reference is counted where the type is PyObject *.
    PyObject *Py_None
    PyObject *Py_True
    PyObject *Py_False
    void Py_INCREF(PyObject *object)
    void Py_DECREF(PyObject *object)
    void Py_XINCREF(PyObject *object)
    void Py_XDECREF(PyObject *object)
    bint PyDict_CheckExact(PyObject *object)
    bint PyList_CheckExact(PyObject *object)
    bint PyLong_CheckExact(PyObject *object)
    bint PyFloat_CheckExact(PyObject *object)
    double PyFloat_AS_DOUBLE(PyObject *object)
    long long PyLong_AsLongLongAndOverflow(PyObject *object, int *overflow)
    unsigned long long PyLong_AsUnsignedLongLong(PyObject *object)
    PyObject *PyDict_GetItemWithError(PyObject *dict, PyObject *key)
    Py_ssize_t PyDict_Size(PyObject *dict)
    bint PyDict_Next(PyObject *dict, Py_ssize_t *position, PyObject **key, PyObject **value)
    Py_ssize_t PyList_GET_SIZE(PyObject *list)
    PyObject *PyList_GET_ITEM(PyObject *list, Py_ssize_t index)
    int PySet_Contains(PyObject *set, PyObject *key)
    bint PyUnicode_IS_ASCII(PyObject *text)
    int PyUnicode_KIND(PyObject *text)
    void *PyUnicode_DATA(PyObject *text)
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject *text)
    int PyUnicode_Contains(PyObject *text, PyObject *part)
    PyObject *PyObject_CallOneArg(PyObject *function, PyObject *argument)
    int PyObject_IsTrue(PyObject *object)
    PyObject *PyErr_Occurred()
    bint PyErr_ExceptionMatches(PyObject *exception)
    void PyErr_Clear()
    PyObject *PyExc_Exception
