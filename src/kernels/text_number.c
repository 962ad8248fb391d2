/* Decimal texts to doubles, correctly rounded, without strtod (which follows the locale and wants a closing NUL). */
#include "fastfilter/text.h"

#include <float.h>
#include <math.h>
#include <string.h>

static bool is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') <= 9;
}

bool ff_is_plain_number(ff_bytes text) {
    const uint8_t *position = text.data, *end = text.data + text.length;
    if (position < end && *position == '-') {
        position++;
    }
    const uint8_t *start = position;
    while (position < end && is_digit(*position)) {
        position++;
    }
    if (position == start) {
        return false;
    }
    if (position == end) {
        return true;
    }
    if (*position++ != '.') {
        return false;
    }
    start = position;
    while (position < end && is_digit(*position)) {
        position++;
    }
    return position > start && position == end;
}

/* ---- Any number of digits: a decimal that is halved and doubled until it is the 53-bit integer wanted ---- */

/* No midpoint between two doubles has more than 767 significant digits, so what lies behind 800 matters only in being
 * zero or not. */
enum { MAX_DIGITS = 800, MAX_SHIFT = 60 };

/* The number 0.d₀d₁d₂… · 10^point, a little more if `more` (a digit behind the last was not zero). d₀ is not zero. */
typedef struct {
    int num_digits;
    int point;
    bool more;
    uint8_t digits[MAX_DIGITS];
} decimal;

static void drop_trailing_zeros(decimal *number) {
    while (number->num_digits > 0 && number->digits[number->num_digits - 1] == 0) {
        number->num_digits--;
    }
}

static void multiply_by_power_of_two(decimal *number, int shift) {
    uint8_t product[MAX_DIGITS + 20];
    int start = sizeof product;
    uint64_t carry = 0;
    for (int i = number->num_digits - 1; i >= 0; i--) {
        carry += (uint64_t)number->digits[i] << shift;
        product[--start] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    for (; carry != 0; carry /= 10) {
        product[--start] = (uint8_t)(carry % 10);
    }
    int num_digits = (int)sizeof product - start;
    number->point += num_digits - number->num_digits;
    number->num_digits = num_digits < MAX_DIGITS ? num_digits : MAX_DIGITS;
    memcpy(number->digits, product + start, (size_t)number->num_digits);
    for (int i = MAX_DIGITS; i < num_digits; i++) {
        number->more |= product[start + i] != 0;
    }
    drop_trailing_zeros(number);
}

static void divide_by_power_of_two(decimal *number, int shift) {
    int read = 0, written = 0;
    uint64_t rest = 0, mask = ((uint64_t)1 << shift) - 1;
    while (rest >> shift == 0) {
        rest = rest * 10 + (read < number->num_digits ? number->digits[read] : 0);
        read++;
    }
    number->point -= read - 1;
    while (rest != 0 || read < number->num_digits) {
        uint8_t digit = (uint8_t)(rest >> shift);
        rest = (rest & mask) * 10;
        if (read < number->num_digits) {
            rest += number->digits[read++];
        }
        if (written < MAX_DIGITS) {
            number->digits[written++] = digit;
        } else {
            number->more |= digit != 0;
        }
    }
    number->num_digits = written;
    drop_trailing_zeros(number);
}

/* The nearest integer, ties to even; the number is below 2^54. */
static uint64_t round_to_integer(const decimal *number) {
    uint64_t integer = 0;
    for (int i = 0; i < number->point; i++) {
        integer = integer * 10 + (i < number->num_digits ? number->digits[i] : 0);
    }
    if (number->point < 0 || number->point >= number->num_digits) {
        return integer;
    }
    uint8_t next = number->digits[number->point];
    bool beyond = number->more || number->point + 1 < number->num_digits;
    return integer + (next > 5 || (next == 5 && (beyond || integer % 2 == 1)));
}

static double decimal_to_double(decimal *number) {
    if (number->num_digits == 0 || number->point < -330) {
        return 0.0;
    }
    if (number->point > 310) {
        return HUGE_VAL;
    }
    /* Bring the number into [0.5, 1) times 2^exponent. Three bits for each decimal place never go past. */
    int exponent = 0;
    while (number->point > 0) {
        int shift = number->point < MAX_SHIFT / 3 ? number->point * 3 : MAX_SHIFT;
        divide_by_power_of_two(number, shift);
        exponent += shift;
    }
    while (number->point < 0 || number->digits[0] < 5) {
        int shift = number->point == 0 ? 1 : -number->point < MAX_SHIFT / 3 ? -number->point * 3 : MAX_SHIFT;
        multiply_by_power_of_two(number, shift);
        exponent -= shift;
    }
    /* Keep 53 bits, or as many as are above the smallest subnormal, and round once. */
    int bits = exponent - 53 < -1074 ? exponent + 1074 : 53;
    if (bits < 0) {
        return 0.0;
    }
    multiply_by_power_of_two(number, bits);
    return ldexp((double)round_to_integer(number), exponent - bits); /* overflows to infinity where it must */
}

/* ---- Up to 19 digits and small exponents: 128-bit integers ---- */

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 uint128;

enum { MAX_POWER_OF_FIVE = 27 }; /* the greatest that fits 64 bits */

static const uint64_t powers_of_five[MAX_POWER_OF_FIVE + 1] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u, 244140625u, 1220703125u,
    6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u, 19073486328125u, 95367431640625u,
    476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u, 298023223876953125u,
    1490116119384765625u, 7450580596923828125u,
};

static int bit_length(uint64_t value) {
    int length = 0;
    for (int step = 32; step > 0; step /= 2) {
        if (value >> step != 0) {
            value >>= step;
            length += step;
        }
    }
    return length + (value != 0);
}

/* significand · 2^exponent, rounded to nearest, ties to even; the result is in the range of normal doubles. */
static double round_to_double(uint128 significand, int exponent) {
    uint64_t high = (uint64_t)(significand >> 64);
    int excess = (high != 0 ? 64 + bit_length(high) : bit_length((uint64_t)significand)) - 53;
    if (excess <= 0) {
        return ldexp((double)(uint64_t)significand, exponent);
    }
    uint64_t kept = (uint64_t)(significand >> excess);
    uint128 dropped = significand - ((uint128)kept << excess), half = (uint128)1 << (excess - 1);
    kept += dropped > half || (dropped == half && kept % 2 == 1);
    return ldexp((double)kept, exponent + excess);
}

/* significand · 10^power, correctly rounded; significand is not zero and |power| at most MAX_POWER_OF_FIVE. */
static double scale(uint64_t significand, int power) {
    if (power >= 0) {
        return round_to_double((uint128)significand * powers_of_five[power], power);
    }
    int shift = 64 - bit_length(significand);
    uint128 dividend = (uint128)(significand << shift) << 64;
    uint64_t divisor = powers_of_five[-power];
    /* At least 64 bits of quotient; the last also stands for whatever is behind it. */
    uint128 quotient = dividend / divisor;
    quotient |= quotient * divisor != dividend;
    return round_to_double(quotient, power - 64 - shift);
}
#endif

#if FLT_EVAL_METHOD == 0
enum { MAX_EXACT_POWER = 22 }; /* the greatest power of ten that is a double */
static const double exact_powers[MAX_EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};
#endif

/* The exponent part behind the digits, clamped far outside of what the digits of any text can make up for. */
static int64_t read_exponent(const uint8_t *position, const uint8_t *end) {
    bool negative = false;
    int64_t exponent = 0;
    position++; /* the letter */
    if (position < end && (*position == '-' || *position == '+')) {
        negative = *position++ == '-';
    }
    for (; position < end && is_digit(*position); position++) {
        if (exponent < INT64_MAX / 16) {
            exponent = exponent * 10 + (*position - '0');
        }
    }
    return negative ? -exponent : exponent;
}

#if FLT_EVAL_METHOD == 0
/* Up to 15 digits and a point: the quotient of two integers that doubles hold exactly, and so rounded once. Up to 16
 * digits: an integer, rounded once. False for any other number. */
static bool parse_short(ff_bytes text, double *number) {
    bool negative = text.length > 0 && text.data[0] == '-';
    int64_t digits = 0, behind_point = text.length;
    if (text.length > 16) {
        return false;
    }
    for (int64_t i = negative; i < text.length; i++) {
        uint8_t digit = (uint8_t)(text.data[i] - '0');
        if (digit <= 9) {
            digits = digits * 10 + digit;
        } else if (text.data[i] == '.') {
            behind_point = i + 1;
        } else {
            return false;
        }
    }
    double magnitude = (double)digits / exact_powers[text.length - behind_point];
    *number = negative ? -magnitude : magnitude;
    return true;
}
#endif

double ff_parse_double(ff_bytes text) {
#if FLT_EVAL_METHOD == 0
    double number;
    if (parse_short(text, &number)) {
        return number;
    }
#endif
    const uint8_t *position = text.data, *end = text.data + text.length;
    bool negative = position < end && *position == '-';
    position += negative;
    const uint8_t *digits_start = position;

    /* significand · 10^exponent; exact unless there are more than 19 significant digits. */
    uint64_t significand = 0;
    int num_significant = 0;
    int64_t exponent = 0;
    bool exact = true, fraction = false;
    for (; position < end && (is_digit(*position) || *position == '.'); position++) {
        if (*position == '.') {
            fraction = true;
            continue;
        }
        uint8_t digit = (uint8_t)(*position - '0');
        if (num_significant < 19) {
            significand = significand * 10 + digit;
            num_significant += significand != 0;
            exponent -= fraction;
        } else {
            exact &= digit == 0;
            exponent += !fraction;
        }
    }
    const uint8_t *digits_end = position;
    int64_t written_exponent = position < end ? read_exponent(position, end) : 0;
    exponent += written_exponent;

    if (significand == 0) {
        return negative ? -0.0 : 0.0;
    }
    double magnitude = 0;
    bool done = false;
#if FLT_EVAL_METHOD == 0
    if (exact && significand <= (uint64_t)1 << 53 && exponent >= -MAX_EXACT_POWER && exponent <= MAX_EXACT_POWER) {
        magnitude = exponent < 0 ? (double)significand / exact_powers[-exponent]
                                 : (double)significand * exact_powers[exponent];
        done = true;
    }
#endif
#ifdef __SIZEOF_INT128__
    if (!done && exact && exponent >= -MAX_POWER_OF_FIVE && exponent <= MAX_POWER_OF_FIVE) {
        magnitude = scale(significand, (int)exponent);
        done = true;
    }
#endif
    if (!done) {
        decimal exactly;
        exactly.num_digits = 0;
        exactly.more = false;
        int64_t point = 0;
        fraction = false;
        for (position = digits_start; position < digits_end; position++) {
            if (*position == '.') {
                fraction = true;
                continue;
            }
            uint8_t digit = (uint8_t)(*position - '0');
            bool leading_zero = digit == 0 && exactly.num_digits == 0;
            if (leading_zero) {
                point -= fraction;
                continue;
            }
            point += !fraction;
            if (exactly.num_digits < MAX_DIGITS) {
                exactly.digits[exactly.num_digits++] = digit;
            } else {
                exactly.more |= digit != 0;
            }
        }
        drop_trailing_zeros(&exactly);
        point += written_exponent;
        exactly.point = point > 1000 ? 1000 : point < -1000 ? -1000 : (int)point;
        magnitude = decimal_to_double(&exactly);
    }
    return negative ? -magnitude : magnitude;
}

bool ff_append_uint64(ff_buffer *out, uint64_t value) {
    uint8_t digits[20];
    int start = sizeof digits;
    do {
        digits[--start] = (uint8_t)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return ff_buffer_append(out, digits + start, (int64_t)sizeof digits - start);
}

bool ff_append_int64(ff_buffer *out, int64_t value) {
    if (value < 0) {
        return ff_buffer_append(out, "-", 1) && ff_append_uint64(out, 0 - (uint64_t)value);
    }
    return ff_append_uint64(out, (uint64_t)value);
}
