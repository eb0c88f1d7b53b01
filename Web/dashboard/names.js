// The names of types of health data.

/** The names of the server's words for types of health data that say too little by themselves. */
const names = {
  __proto__: null,
  HRV: 'Heart rate variability', HEART_RATE_VARIABILITY_SDNN: 'Heart rate variability',
  VO2_MAX: 'VO₂ max', BMI: 'Body mass index', UV_EXPOSURE: 'UV exposure', NIKE_FUEL: 'NikeFuel',
  SLEEP_SESSION: 'Sleep', SLEEP_REM: 'Sleep REM', CALORIES: 'Active energy',
  ACTIVE_ENERGY_BURNED: 'Active energy', BASAL_ENERGY: 'Resting energy',
  DISTANCE: 'Distance on foot', DISTANCE_WALKING_RUNNING: 'Distance on foot',
  GLUCOSE: 'Blood glucose', EXERCISE_TIME: 'Exercise', STAND_TIME: 'Standing',
};

/** Returns a word of the server in words: `BLOOD_OXYGEN` becomes `Blood oxygen`. */
export function nameText(word) {
  if (names[word]) return names[word];
  const text = String(word).toLowerCase().replace(/_/g, ' ')
    .replace(/vitamin \w+$/, vitamin => `vitamin ${vitamin.slice(8).toUpperCase()}`);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
