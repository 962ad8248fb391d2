# Where the lines of a text begin and end. Part of _native.pyx.

def line_offsets(text not None):
    """Where each line of a text begins, and where the last one ends, as numpy int64.

    Args:
        text: its bytes, as a numpy array; a line ends behind its newline.
    """
    cdef Py_buffer bytes_, numbers
    cdef const char *start
    cdef const char *end
    cdef const char *at
    cdef int64_t num_lines = 0
    cdef int64_t *offset
    PyObject_GetBuffer(text, &bytes_, PyBUF_SIMPLE)
    try:
        start = <const char *>bytes_.buf
        end = start + bytes_.len
        with nogil:
            at = start
            while at < end:
                at = line_end(at, end)
                num_lines += 1
        offsets = _empty(num_lines + 1, _INT64)
        PyObject_GetBuffer(offsets, &numbers, PyBUF_WRITABLE)
        offset = <int64_t *>numbers.buf
        offset[0] = 0
        with nogil:
            at = start
            while at < end:
                at = line_end(at, end)
                offset += 1
                offset[0] = at - start
        PyBuffer_Release(&numbers)
    finally:
        PyBuffer_Release(&bytes_)
    return offsets


cdef const char *line_end(const char *at, const char *end) noexcept nogil:
    """Behind the newline of the line that begins there."""
    cdef const char *newline = <const char *>memchr(at, c"\n", end - at)
    return end if newline == NULL else newline + 1
