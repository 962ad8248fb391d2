# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The content of plain Python values as bytes, written in one pass that runs no Python code.

Each value is a letter for its type and then what it holds, with its length in front where that varies; so two values
have the same bytes only if they have the same types and content throughout.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memcpy

from records cimport *

__all__ = ["plain_key"]

cdef enum:
    MAX_DEPTH = 64  # of what is read here
    AT_HAND = 2_048  # bytes that need no memory of their own
    LONGEST = 65_536  # bytes of a key: lists that hold one list many times would else be written out

cdef extern from "Python.h":
    bint PyTuple_CheckExact(PyObject *object)
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject *sequence)
    PyObject *PySequence_Fast_GET_ITEM(PyObject *sequence, Py_ssize_t index)
    bint PyBytes_CheckExact(PyObject *object)
    char *PyBytes_AS_STRING(PyObject *object)
    Py_ssize_t PyBytes_GET_SIZE(PyObject *object)


cdef struct Writer:
    char *data
    Py_ssize_t size
    Py_ssize_t capacity
    bint owned  # data is no longer the caller's


cdef bint put(Writer *out, char letter, const void *data, Py_ssize_t length) noexcept:
    """Appends a letter and some bytes; False if the key gets too long, or there is no memory for it."""
    cdef Py_ssize_t needed = out.size + 1 + length
    cdef char *grown
    if length > LONGEST or needed > LONGEST:
        return False
    if needed > out.capacity:
        grown = <char *>(PyMem_Realloc(out.data, 2 * needed) if out.owned else PyMem_Malloc(2 * needed))
        if grown == NULL:
            return False
        if not out.owned:
            memcpy(grown, out.data, out.size)
        out.data, out.capacity, out.owned = grown, 2 * needed, True
    out.data[out.size] = letter
    memcpy(out.data + out.size + 1, data, length)
    out.size = needed
    return True


cdef bint put_with_length(Writer *out, char letter, const void *data, Py_ssize_t count, int width) noexcept:
    """Appends a letter, a count, and so many units of some bytes each, with their width in front."""
    return put(out, letter, &count, sizeof(count)) and put(out, <char>width, data, count * width)


cdef bint write(Writer *out, PyObject *value, int depth) noexcept:
    """Appends a value; False if it is not plain. All references are borrowed, since nothing here runs Python code."""
    cdef Py_ssize_t position = 0, count
    cdef PyObject *key
    cdef PyObject *item
    cdef long long integer
    cdef double number
    cdef int overflow
    if FF_IS_TEXT(value):
        return put_with_length(out, c"s", PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value), PyUnicode_KIND(value))
    if value == Py_None:
        return put(out, c"n", b"", 0)
    if value == Py_True or value == Py_False:
        return put(out, c"t" if value == Py_True else c"f", b"", 0)
    if PyFloat_CheckExact(value):
        number = PyFloat_AS_DOUBLE(value)
        return put(out, c"d", &number, sizeof(number))
    if PyLong_CheckExact(value):
        integer = PyLong_AsLongLongAndOverflow(value, &overflow)
        return not overflow and put(out, c"i", &integer, sizeof(integer))
    if PyBytes_CheckExact(value):
        return put_with_length(out, c"b", PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value), 1)
    if depth == MAX_DEPTH:
        return False
    if PyDict_CheckExact(value):
        count = PyDict_Size(value)
        if not put(out, c"{", &count, sizeof(count)):
            return False
        while PyDict_Next(value, &position, &key, &item):
            if not (write(out, key, depth + 1) and write(out, item, depth + 1)):
                return False
        return True
    if PyList_CheckExact(value) or PyTuple_CheckExact(value):
        count = PySequence_Fast_GET_SIZE(value)
        if not put(out, c"[" if PyList_CheckExact(value) else c"(", &count, sizeof(count)):
            return False
        for position in range(count):
            if not write(out, PySequence_Fast_GET_ITEM(value, position), depth + 1):
                return False
        return True
    return False


def plain_key(object value):
    """The bytes of a value; None if it is or holds anything but None, bool, int of 64 bits, float, str and bytes, or if
    they would be very many.

    Containers are dict, list and tuple, nested up to 64 deep. A subclass of any of these is not plain.
    """
    cdef char at_hand[AT_HAND]
    cdef Writer out
    out.data, out.size, out.capacity, out.owned = at_hand, 0, AT_HAND, False
    try:
        if not write(&out, <PyObject *>value, 0):
            return None
        return PyBytes_FromStringAndSize(out.data, out.size)
    finally:
        if out.owned:
            PyMem_Free(out.data)
