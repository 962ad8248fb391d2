# The bits of the rows that match: counted, as row numbers, and as an Arrow array that holds them. Part of _native.pyx.

def count_bits(bytearray bits not None):
    """How many bits are set."""
    return ff_count_bits(<const uint8_t *>PyByteArray_AS_STRING(bits), PyByteArray_GET_SIZE(bits))


def bits_to_indices(bytearray bits not None, int64_t first=0):
    """The numbers of the set bits as numpy int64, ascending, counted from ``first``."""
    cdef const uint8_t *data = <const uint8_t *>PyByteArray_AS_STRING(bits)
    cdef int64_t num_bytes = PyByteArray_GET_SIZE(bits)
    cdef Py_buffer buffer
    indices = _empty(ff_count_bits(data, num_bytes), _INT64)
    PyObject_GetBuffer(indices, &buffer, PyBUF_WRITABLE)
    ff_bits_to_indices(data, num_bytes, first, <int64_t *>buffer.buf)
    PyBuffer_Release(&buffer)
    return indices


cdef struct BitsOwner:  # what an array that was given to Arrow holds
    Py_buffer bits
    const void *buffers[2]


cdef void release_bits(ArrowArray *array) noexcept nogil:
    cdef BitsOwner *owner = <BitsOwner *>array.private_data
    if Py_IsInitialized():  # an array may outlive the interpreter, and then so do its bits
        with gil:
            PyBuffer_Release(&owner.bits)
        free(owner)
    array.release = NULL


def bits_to_array(bytearray bits not None, int64_t num_rows):
    """The first ``num_rows`` bits as a pyarrow BooleanArray without nulls; no copy.

    Raises:
        ValueError: there are not so many bits.
    """
    cdef ArrowArray array
    cdef BitsOwner *owner
    if not 0 <= num_rows <= 8 * PyByteArray_GET_SIZE(bits):
        raise ValueError(f"{PyByteArray_GET_SIZE(bits)} bytes do not hold {num_rows} rows")
    owner = <BitsOwner *>malloc(sizeof(BitsOwner))
    if owner == NULL:
        raise MemoryError
    try:
        PyObject_GetBuffer(bits, &owner.bits, PyBUF_SIMPLE)
    except BaseException:
        free(owner)
        raise
    owner.buffers[0] = NULL
    owner.buffers[1] = owner.bits.buf
    memset(&array, 0, sizeof(array))
    array.length = num_rows
    array.n_buffers = 2
    array.buffers = owner.buffers
    array.private_data = owner
    array.release = release_bits
    return _import_array(<size_t>&array, _BOOL)  # which releases it where it fails
