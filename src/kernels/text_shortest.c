/* The shortest decimal that reads back as the same binary float, and the closest of the shortest: exact arithmetic on
 * big integers (Steele and White, 1990), one body for halfs, floats and doubles. */
#include "fastfilter/text.h"

#include <math.h>
#include <string.h>

/* ---- Big integers, little-endian limbs; the greatest here is below 10 · 2^1140 ---- */

enum { MAX_LIMBS = 38 };

typedef struct {
    int num_limbs; /* without leading zeros */
    uint32_t limbs[MAX_LIMBS];
} big_integer;

static void trim(big_integer *number) {
    while (number->num_limbs > 0 && number->limbs[number->num_limbs - 1] == 0) {
        number->num_limbs--;
    }
}

static void set_shifted(big_integer *number, uint64_t value, int shift) {
    memset(number, 0, sizeof *number);
    int limb = shift / 32, bits = shift % 32;
    number->limbs[limb] = (uint32_t)(value << bits);
    number->limbs[limb + 1] = (uint32_t)((value << bits) >> 32);
    number->limbs[limb + 2] = bits != 0 ? (uint32_t)(value >> (64 - bits)) : 0;
    number->num_limbs = limb + 3;
    trim(number);
}

static void multiply(big_integer *number, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < number->num_limbs; i++) {
        carry += (uint64_t)number->limbs[i] * factor;
        number->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) {
        number->limbs[number->num_limbs++] = (uint32_t)carry;
    }
}

static void multiply_by_power_of_ten(big_integer *number, int power) {
    for (; power >= 9; power -= 9) {
        multiply(number, 1000000000u);
    }
    for (; power > 0; power--) {
        multiply(number, 10);
    }
}

static int compare(const big_integer *left, const big_integer *right) {
    if (left->num_limbs != right->num_limbs) {
        return left->num_limbs < right->num_limbs ? -1 : 1;
    }
    for (int i = left->num_limbs - 1; i >= 0; i--) {
        if (left->limbs[i] != right->limbs[i]) {
            return left->limbs[i] < right->limbs[i] ? -1 : 1;
        }
    }
    return 0;
}

/* left + right against sum */
static int compare_sum(const big_integer *left, const big_integer *right, const big_integer *sum) {
    big_integer total = *left;
    uint64_t carry = 0;
    for (int i = 0; i < right->num_limbs || carry != 0; i++) {
        carry += i < right->num_limbs ? right->limbs[i] : 0;
        carry += i < total.num_limbs ? total.limbs[i] : 0;
        total.limbs[i] = (uint32_t)carry;
        carry >>= 32;
        if (i >= total.num_limbs) {
            total.num_limbs = i + 1;
        }
    }
    return compare(&total, sum);
}

/* left -= right, which is not greater */
static void subtract(big_integer *left, const big_integer *right) {
    uint64_t borrow = 0;
    for (int i = 0; i < left->num_limbs; i++) {
        uint64_t taken = borrow + (i < right->num_limbs ? right->limbs[i] : 0);
        borrow = left->limbs[i] < taken;
        left->limbs[i] -= (uint32_t)taken;
    }
    trim(left);
}

/* ---- Digits ---- */

enum { MAX_SHORTEST_DIGITS = 17 };

/* Finds the digits d₀d₁… of significand · 2^exponent = 0.d₀d₁… · 10^point. `lower_gap_is_half`: the next float below is
 * half as far away as the next above. Returns the number of digits. */
static int shortest_digits(uint64_t significand, int exponent, bool lower_gap_is_half, uint8_t *digits, int *point) {
    /* value = numerator / denominator; what lies within below / denominator and above / denominator of it reads back as
     * the same float, the ends included if the significand is even (ties go to even). */
    big_integer numerator, denominator, below, above;
    int up = exponent > 0 ? exponent : 0, down = exponent < 0 ? -exponent : 0, extra = lower_gap_is_half ? 2 : 1;
    set_shifted(&numerator, significand, up + extra);
    set_shifted(&denominator, 1, down + extra);
    set_shifted(&below, 1, up);
    set_shifted(&above, 1, up + extra - 1);
    int ends = significand % 2 == 0;

    int bits = 0;
    while (bits < 64 && significand >> bits != 0) {
        bits++;
    }
    /* At most one too low, never too high. */
    int power = (int)ceil((exponent + bits - 1) * 0.30102999566398119521 - 1e-9);
    if (power >= 0) {
        multiply_by_power_of_ten(&denominator, power);
    } else {
        multiply_by_power_of_ten(&numerator, -power);
        multiply_by_power_of_ten(&below, -power);
        multiply_by_power_of_ten(&above, -power);
    }
    if (compare_sum(&numerator, &above, &denominator) >= 1 - ends) {
        multiply(&denominator, 10);
        power++;
    }
    *point = power;

    for (int count = 0;;) {
        multiply(&numerator, 10);
        multiply(&below, 10);
        multiply(&above, 10);
        uint8_t digit = 0;
        while (compare(&numerator, &denominator) >= 0) {
            subtract(&numerator, &denominator);
            digit++;
        }
        bool low = compare(&numerator, &below) < ends;
        bool high = compare_sum(&numerator, &above, &denominator) > -ends;
        if (low || high || count == MAX_SHORTEST_DIGITS - 1) {
            if (low == high) {
                int half = compare_sum(&numerator, &numerator, &denominator);
                high = half > 0 || (half == 0 && digit % 2 == 1);
            }
            digits[count++] = (uint8_t)('0' + digit + high);
            return count;
        }
        digits[count++] = (uint8_t)('0' + digit);
    }
}

static bool append_zeros(ff_buffer *out, int64_t count) {
    if (!ff_buffer_reserve(out, count)) {
        return false;
    }
    memset(out->data + out->length, '0', (size_t)count);
    out->length += count;
    return true;
}

/* `value` is a float of `precision` bits whose last bit stands for 2^min_exponent or more. */
static bool append_shortest(ff_buffer *out, double value, int precision, int min_exponent) {
    if (isnan(value)) {
        return ff_buffer_append(out, "NaN", 3);
    }
    if (isinf(value)) {
        return value > 0 ? ff_buffer_append(out, "Infinity", 8) : ff_buffer_append(out, "-Infinity", 9);
    }
    double limit = ldexp(1.0, precision);
    if (value > -limit && value < limit && value == (double)(int64_t)value) {
        return ff_append_int64(out, (int64_t)value);
    }
    if (value < 0) {
        value = -value;
        if (!ff_buffer_append(out, "-", 1)) {
            return false;
        }
    }
    int exponent;
    frexp(value, &exponent);
    exponent -= precision;
    if (exponent < min_exponent) {
        exponent = min_exponent;
    }
    uint64_t significand = (uint64_t)ldexp(value, -exponent);
    bool lower_gap_is_half = significand == (uint64_t)1 << (precision - 1) && exponent > min_exponent;
    uint8_t digits[MAX_SHORTEST_DIGITS];
    int point;
    int count = shortest_digits(significand, exponent, lower_gap_is_half, digits, &point);
    if (point <= 0) {
        return ff_buffer_append(out, "0.", 2) && append_zeros(out, -point) && ff_buffer_append(out, digits, count);
    }
    if (point >= count) {
        return ff_buffer_append(out, digits, count) && append_zeros(out, point - count);
    }
    return ff_buffer_append(out, digits, point) && ff_buffer_append(out, ".", 1) &&
           ff_buffer_append(out, digits + point, count - point);
}

bool ff_append_double(ff_buffer *out, double value) {
    return append_shortest(out, value, 53, -1074);
}

bool ff_append_float(ff_buffer *out, float value) {
    return append_shortest(out, (double)value, 24, -149);
}

bool ff_append_half(ff_buffer *out, double value) {
    return append_shortest(out, value, 11, -24);
}
