/// The words that people use for health data, with the words of the types that they may mean.
///
/// A question with such a word is refused, and the refusal names the types: most of these words
/// stand for several types, and the assistant should know which one it asked for.
enum CommonWords {
  /// Returns what to ask for instead of a word, the most likely first; nothing for other words.
  static func meanings(of word: String) -> [String] {
    let kinds = WorkoutKinds.known(word)
    // A word for several kinds is accepted as it is.
    let workouts =
      kinds.isEmpty ? [] : ["WORKOUT with workout_type \(kinds.count == 1 ? kinds[0] : word)"]
    return workouts + types(of: word)
  }

  private static func types(of word: String) -> [String] {
    let letters = HealthValueType.letters(of: word)
    if let found = words[letters] { return found }
    return letters.hasSuffix("S") ? words[String(letters.dropLast())] ?? [] : []
  }

  private static let words: [String: [String]] = {
    var words: [String: [String]] = [:]
    for (types, others) in table {
      for word in others.split(separator: " ") {
        words[HealthValueType.letters(of: String(word))] =
          types.split(separator: " ").map(String.init)
      }
    }
    return words
  }()

  /// Words of types, and the words that people use for them.
  static let table = [
    ("HEART_RATE RESTING_HEART_RATE", "PULSE PULSE_RATE HEARTBEAT BPM HR HEART"),
    ("RESTING_HEART_RATE", "RHR RESTING_PULSE"),
    ("HRV HEART_RATE RESTING_HEART_RATE", "STRESS STRESS_LEVEL RECOVERY READINESS"),
    ("BLOOD_PRESSURE", "BP PRESSURE HYPERTENSION"),
    ("BLOOD_PRESSURE_SYSTOLIC", "SYSTOLIC"), ("BLOOD_PRESSURE_DIASTOLIC", "DIASTOLIC"),
    ("GLUCOSE", "BG CGM"),
    ("BLOOD_OXYGEN", "OXYGEN OXYGEN_LEVEL O2 SATURATION"),
    ("RESPIRATORY_RATE", "BREATH BREATHING BREATHING_RATE RESPIRATION"),
    ("BODY_TEMPERATURE WRIST_TEMPERATURE", "TEMPERATURE TEMP"),
    ("CALORIES BASAL_ENERGY", "CALORIES_BURNED BURNED_CALORIES ENERGY ENERGY_BURNED KCAL"),
    ("CALORIES BASAL_ENERGY", "TOTAL_CALORIES TOTAL_ENERGY ENERGY_EXPENDITURE TDEE"),
    ("BASAL_ENERGY", "BMR RESTING_CALORIES BASAL_METABOLIC_RATE"),
    ("NUTRITION DIETARY_ENERGY", "FOOD MEAL DIET EATING MACRO CALORIES_EATEN CALORIE_INTAKE"),
    ("WATER", "HYDRATION DRINKING FLUID FLUID_INTAKE"),
    ("DIETARY_CAFFEINE", "COFFEE"), ("DIETARY_CARBOHYDRATES", "CARB"),
    ("ALCOHOLIC_DRINKS BLOOD_ALCOHOL", "BEER WINE"),
    ("DIETARY_FAT_TOTAL BODY_FAT_PERCENTAGE", "FAT"),
    ("WEIGHT", "MASS BODY_WEIGHT KILO POUND"),
    ("WEIGHT BODY_FAT_PERCENTAGE LEAN_BODY_MASS", "BODY_COMPOSITION"),
    ("LEAN_BODY_MASS", "MUSCLE MUSCLE_MASS"), ("WAIST_CIRCUMFERENCE", "WAIST"),
    ("WORKOUT EXERCISE_TIME", "EXERCISE TRAINING SPORT GYM FITNESS_TRAINING SESSION"),
    ("STEPS EXERCISE_TIME CALORIES", "ACTIVITY MOVEMENT ACTIVE_MINUTES RINGS"),
    ("VO2_MAX", "FITNESS CARDIO VO2 OXYGEN_UPTAKE"),
    ("DISTANCE DISTANCE_CYCLING", "MILE KILOMETER KILOMETRE KM METER METRE"),
    ("FLIGHTS_CLIMBED", "FLOOR STAIR FLIGHT ELEVATION"),
    ("STAND_HOURS STAND_TIME", "STAND STANDING STANDING_TIME"),
    ("WALKING_SPEED RUNNING_SPEED CYCLING_SPEED", "SPEED PACE"),
    (
      "SLEEP",
      "SLEEPING NAP NIGHT ASLEEP DEEP_SLEEP REM REM_SLEEP LIGHT_SLEEP CORE_SLEEP TIME_IN_BED BEDTIME"
    ),
    ("MINDFULNESS", "MEDITATION MEDITATING MINDFUL_MINUTES"),
    ("MOOD_CHANGES", "MOOD EMOTION"),
    ("MENSTRUAL_FLOW", "PERIOD MENSTRUATION MENSES MENSTRUAL_CYCLE"),
    ("HEADACHE", "MIGRAINE"), ("COUGHING", "COUGH"), ("FATIGUE", "TIREDNESS"),
    ("ENVIRONMENTAL_SOUND HEADPHONE_SOUND", "NOISE LOUDNESS VOLUME HEARING"),
    ("TIME_IN_DAYLIGHT", "DAYLIGHT SUNLIGHT"), ("FALLS", "FALLING"),
  ]
}
