import HoldfastHealthSamples

// The category types of HealthKit, and workouts.

extension HealthType {
  static let sessions: [HealthType] = [
    HealthType(
      identifier: categoryPrefix + "SleepAnalysis", word: "SLEEP", type: HealthKind.sleepType,
      otherWords: [], form: .sleep, meaning: "time asleep, in bed and in each stage"),
    HealthType(
      identifier: categoryPrefix + "MindfulSession", word: "MINDFULNESS", type: "MINDFULNESS",
      otherWords: [], form: .minutes, meaning: "minutes of mindfulness"),
    HealthType(
      identifier: HealthSample.workoutType, word: "WORKOUT", type: "WORKOUT",
      otherWords: ["WORKOUTS"], form: .workout,
      meaning: "workouts with kind, minutes, distance, energy and heart rate"),
    .event(
      "AppleStandHour", "STAND_HOURS", .standHour,
      "each hour of the day; those with STOOD count for the blue ring"),
  ]

  static let cycle: [HealthType] = [
    .event("MenstrualFlow", "MENSTRUAL_FLOW", .bleeding, "menstruation by day"),
    .event(
      "IntermenstrualBleeding", "INTERMENSTRUAL_BLEEDING", .none, "bleeding between periods",
      "SPOTTING"),
    .event(
      "BleedingAfterPregnancy", "BLEEDING_AFTER_PREGNANCY", .bleeding, "bleeding after pregnancy"),
    .event(
      "BleedingDuringPregnancy", "BLEEDING_DURING_PREGNANCY", .bleeding,
      "bleeding during pregnancy"),
    .event("CervicalMucusQuality", "CERVICAL_MUCUS_QUALITY", .mucus, "quality of cervical mucus"),
    .event("OvulationTestResult", "OVULATION_TEST", .ovulation, "results of ovulation tests"),
    .event("PregnancyTestResult", "PREGNANCY_TEST", .pregnancyTest, "results of pregnancy tests"),
    .event(
      "ProgesteroneTestResult", "PROGESTERONE_TEST", .progesteroneTest,
      "results of progesterone tests"),
    .event("Pregnancy", "PREGNANCY", .none, "time of a pregnancy"),
    .event("Lactation", "LACTATION", .none, "time of lactation"),
    .event("Contraceptive", "CONTRACEPTIVE", .contraceptive, "use of contraceptives"),
    .event("SexualActivity", "SEXUAL_ACTIVITY", .none, "sexual activity"),
    .event(
      "InfrequentMenstrualCycles", "INFREQUENT_MENSTRUAL_CYCLES", .none,
      "notice of infrequent cycles"),
    .event(
      "IrregularMenstrualCycles", "IRREGULAR_MENSTRUAL_CYCLES", .none,
      "notice of irregular cycles"),
    .event(
      "PersistentIntermenstrualBleeding", "PERSISTENT_INTERMENSTRUAL_BLEEDING", .none,
      "notice of persistent bleeding between periods"),
    .event(
      "ProlongedMenstrualPeriods", "PROLONGED_MENSTRUAL_PERIODS", .none,
      "notice of long periods"),
  ]

  static let symptoms: [HealthType] = [
    .symptom("AbdominalCramps", "abdominal cramps"), .symptom("Acne", "acne"),
    .symptom("AppetiteChanges", "changes of appetite", .appetite),
    .symptom("BladderIncontinence", "bladder incontinence"), .symptom("Bloating", "bloating"),
    .symptom("BreastPain", "breast pain"),
    .symptom("ChestTightnessOrPain", "tightness or pain of the chest"),
    .symptom("Chills", "chills"), .symptom("Constipation", "constipation"),
    .symptom("Coughing", "coughing"), .symptom("Diarrhea", "diarrhea"),
    .symptom("Dizziness", "dizziness"), .symptom("DrySkin", "dry skin"),
    .symptom("Fainting", "fainting"), .symptom("Fatigue", "fatigue"), .symptom("Fever", "fever"),
    .symptom("GeneralizedBodyAche", "body ache"), .symptom("HairLoss", "hair loss"),
    .symptom("Headache", "headache"), .symptom("Heartburn", "heartburn"),
    .symptom("HotFlashes", "hot flashes"), .symptom("LossOfSmell", "loss of smell"),
    .symptom("LossOfTaste", "loss of taste"), .symptom("LowerBackPain", "lower back pain"),
    .symptom("MemoryLapse", "memory lapse"),
    .symptom("MoodChanges", "changes of mood", .presence), .symptom("Nausea", "nausea"),
    .symptom("NightSweats", "night sweats"), .symptom("PelvicPain", "pelvic pain"),
    .symptom("RapidPoundingOrFlutteringHeartbeat", "rapid, pounding or fluttering heartbeat"),
    .symptom("RunnyNose", "runny nose"), .symptom("ShortnessOfBreath", "shortness of breath"),
    .symptom("SinusCongestion", "sinus congestion"),
    .symptom("SkippedHeartbeat", "skipped heartbeat"),
    .symptom("SleepChanges", "changes of sleep", .presence),
    .symptom("SoreThroat", "sore throat"), .symptom("VaginalDryness", "vaginal dryness"),
    .symptom("Vomiting", "vomiting"), .symptom("Wheezing", "wheezing"),
  ]

  static let events: [HealthType] = [
    .event("HighHeartRateEvent", "HIGH_HEART_RATE_EVENT", .none, "notice of a high heart rate"),
    .event("LowHeartRateEvent", "LOW_HEART_RATE_EVENT", .none, "notice of a low heart rate"),
    .event(
      "IrregularHeartRhythmEvent", "IRREGULAR_HEART_RHYTHM_EVENT", .none,
      "notice of an irregular rhythm"),
    .event(
      "LowCardioFitnessEvent", "LOW_CARDIO_FITNESS_EVENT", .lowFitness, "notice of low fitness"),
    .event(
      "HypertensionEvent", "HYPERTENSION_EVENT", .none, "notice of signs of high blood pressure"),
    .event("SleepApneaEvent", "SLEEP_APNEA_EVENT", .none, "notice of signs of sleep apnea"),
    .event(
      "AppleWalkingSteadinessEvent", "WALKING_STEADINESS_EVENT", .steadiness,
      "notice of low steadiness"),
    .event(
      "EnvironmentalAudioExposureEvent", "LOUD_ENVIRONMENT_EVENT", .loudSurroundings,
      "notice of loud surroundings"),
    .event(
      "AudioExposureEvent", "AUDIO_EXPOSURE_EVENT", .loudSurroundings,
      "notice of loud surroundings, before iOS 14"),
    .event(
      "HeadphoneAudioExposureEvent", "LOUD_HEADPHONE_EVENT", .loudHeadphones,
      "notice of loud headphones"),
    .event("HandwashingEvent", "HANDWASHING", .none, "washing of hands; SUM is its minutes"),
    .event("ToothbrushingEvent", "TOOTHBRUSHING", .none, "brushing of teeth; SUM is its minutes"),
  ]
}
