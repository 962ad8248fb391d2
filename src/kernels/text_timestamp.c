#include "fastfilter/text.h"

enum { DAYS_PER_CYCLE = 146097, EPOCH_DAY = 719468 }; /* 400 Gregorian years; 1970-01-01 counted from 0000-03-01 */

/* Reads `count` digits at text[*position]; -1 if there are fewer. */
static int32_t read_digits(ff_bytes text, int64_t *position, int count) {
    if (text.length - *position < count) {
        return -1;
    }
    int32_t value = 0;
    for (int i = 0; i < count; i++) {
        uint8_t digit = (uint8_t)(text.data[*position + i] - '0');
        if (digit > 9) {
            return -1;
        }
        value = value * 10 + digit;
    }
    *position += count;
    return value;
}

static bool read_byte(ff_bytes text, int64_t *position, uint8_t byte) {
    if (*position >= text.length || text.data[*position] != byte) {
        return false;
    }
    ++*position;
    return true;
}

static int days_in_month(int32_t year, int32_t month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

/* Days since 1970-01-01; `year` is 0 to 9999. Years begin in March, so that the leap day is the last. */
static int64_t days_from_date(int32_t year, int32_t month, int32_t day) {
    int64_t march_year = year - (month <= 2) + 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t leap_days = march_year / 4 - march_year / 100 + march_year / 400;
    return march_year * 365 + leap_days + day_of_year - DAYS_PER_CYCLE - EPOCH_DAY;
}

bool ff_parse_timestamp(ff_bytes text, int64_t *seconds, int32_t *nanoseconds) {
    int64_t position = 0;
    int32_t year = read_digits(text, &position, 4);
    bool dash = read_byte(text, &position, '-');
    int32_t month = read_digits(text, &position, 2);
    dash = read_byte(text, &position, '-') && dash;
    int32_t day = read_digits(text, &position, 2);
    bool letter = read_byte(text, &position, 'T');
    int32_t hour = read_digits(text, &position, 2);
    bool colon = read_byte(text, &position, ':');
    int32_t minute = read_digits(text, &position, 2);
    colon = read_byte(text, &position, ':') && colon;
    int32_t second = read_digits(text, &position, 2);
    if (year < 0 || !dash || month < 1 || month > 12 || day < 1 || !letter || hour < 0 || hour > 24 || !colon ||
        minute < 0 || minute > 59 || second < 0 || second > 59 || day > days_in_month(year, month)) {
        return false;
    }
    int32_t fraction = 0;
    if (read_byte(text, &position, '.')) {
        int digits = 0;
        for (int32_t digit; digits < 9 && (digit = read_digits(text, &position, 1)) >= 0; digits++) {
            fraction = fraction * 10 + digit;
        }
        if (digits == 0) {
            return false;
        }
        for (; digits < 9; digits++) {
            fraction *= 10;
        }
    }
    if (hour == 24 && (minute != 0 || second != 0 || fraction != 0)) {
        return false;
    }
    int64_t offset = 0;
    if (!read_byte(text, &position, 'Z')) {
        int sign = read_byte(text, &position, '+') ? 1 : read_byte(text, &position, '-') ? -1 : 0;
        int32_t offset_hour = read_digits(text, &position, 2);
        bool offset_colon = read_byte(text, &position, ':');
        int32_t offset_minute = read_digits(text, &position, 2);
        if (sign == 0 || offset_hour < 0 || offset_hour > 23 || !offset_colon || offset_minute < 0 ||
            offset_minute > 59) {
            return false;
        }
        offset = sign * (offset_hour * 60 + offset_minute) * 60;
    }
    if (position != text.length) {
        return false;
    }
    *seconds = days_from_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
    *nanoseconds = fraction;
    return true;
}

/* Writes `value` (not negative) with at least `width` digits; the number of bytes written. */
static int write_digits(uint8_t *out, int64_t value, int width) {
    int count = 1;
    for (int64_t rest = value / 10; rest != 0 || count < width; rest /= 10) {
        count++;
    }
    for (int i = count - 1; i >= 0; i--, value /= 10) {
        out[i] = (uint8_t)('0' + value % 10);
    }
    return count;
}

bool ff_append_timestamp(ff_buffer *out, int64_t seconds, int32_t nanoseconds) {
    int64_t days = seconds / 86400, second_of_day = seconds % 86400;
    if (second_of_day < 0) {
        second_of_day += 86400;
        days--;
    }
    days += EPOCH_DAY;
    int64_t cycle = days / DAYS_PER_CYCLE, day_of_cycle = days % DAYS_PER_CYCLE;
    if (day_of_cycle < 0) {
        day_of_cycle += DAYS_PER_CYCLE;
        cycle--;
    }
    int64_t year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36524 - day_of_cycle / (DAYS_PER_CYCLE - 1)) / 365;
    int64_t day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    int64_t year = cycle * 400 + year_of_cycle + (month <= 2);

    uint8_t spelled[64];
    int length = 0;
    if (year < 0 || year > 9999) {
        spelled[length++] = year < 0 ? '-' : '+';
        length += write_digits(spelled + length, year < 0 ? -year : year, 6);
    } else {
        length += write_digits(spelled + length, year, 4);
    }
    const struct {
        uint8_t before;
        int64_t value;
    } parts[] = {{'-', month}, {'-', day}, {'T', second_of_day / 3600}, {':', second_of_day / 60 % 60},
                 {':', second_of_day % 60}};
    for (int i = 0; i < 5; i++) {
        spelled[length++] = parts[i].before;
        length += write_digits(spelled + length, parts[i].value, 2);
    }
    spelled[length++] = '.';
    if (nanoseconds % 1000 != 0) {
        length += write_digits(spelled + length, nanoseconds, 9);
    } else if (nanoseconds % 1000000 != 0) {
        length += write_digits(spelled + length, nanoseconds / 1000, 6);
    } else {
        length += write_digits(spelled + length, nanoseconds / 1000000, 3);
    }
    spelled[length++] = 'Z';
    return ff_buffer_append(out, spelled, length);
}
