// Check digits that more than one kind of number has.

/** Of card numbers and Swedish personal numbers: from the right every second digit counts twice. */
export function hasLuhnDigit(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const weighed = i % 2 === 0 ? digit : 2 * digit;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return sum % 10 === 0;
}

/** Each digit times its weight. */
export function weighedSum(digits: string, weights: readonly number[]): number {
  return weights.reduce((sum, weight, i) => sum + weight * Number(digits[i]), 0);
}

/** ISO 7064 on texts of any length: letters count as 10 to 35. */
export function remainderBy97(text: string): number {
  let remainder = 0;
  for (const sign of text) {
    const value = Number.parseInt(sign, 36);
    remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97;
  }
  return remainder;
}

/** A day that the calendar may have, in any year. */
export function isDay(month: number, day: number): boolean {
  const longest = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day >= 1 && day <= (longest[month - 1] ?? 0);
}
