import HoldfastHealthSamples

/// The kinds of workouts, and the words that people use for them.
enum WorkoutKinds {
  /// Returns the names in answers of the kinds that a word stands for, such as `Running`, `jogging`
  /// or `strength training`. An unknown word stands for the kind of that name.
  static func named(_ text: String) -> [String] {
    let known = known(text)
    guard known.isEmpty else { return known }
    if text.uppercased().hasPrefix(prefix), text.count > prefix.count {
      return [WorkoutValue(activity: String(text.dropFirst(prefix.count))).answerType]
    }
    return [String(text.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })]
  }

  /// Returns the names in answers of the kinds that a word stands for, or nothing if it is unknown.
  static func known(_ text: String) -> [String] {
    var letters = HealthValueType.letters(of: text)
    if letters.hasPrefix(prefix) { letters = String(letters.dropFirst(prefix.count)) }
    if let found = words[letters] { return found }
    return letters.hasSuffix("S") ? words[String(letters.dropLast())] ?? [] : []
  }

  private static let prefix = "HKWORKOUTACTIVITYTYPE"

  /// The kinds by the letters of each of their words.
  private static let words: [String: [String]] = {
    var words: [String: [String]] = [:]
    for activity in activities {
      let kind = WorkoutValue(activity: activity).answerType
      for word in [activity, kind] { words[HealthValueType.letters(of: word)] = [kind] }
    }
    for (kinds, others) in otherWords {
      for word in others.split(separator: " ") {
        let letters = HealthValueType.letters(of: String(word))
        words[letters] = words[letters] ?? kinds.split(separator: " ").map(String.init)
      }
    }
    return words
  }()

  /// HealthKit's names of activities (`HKWorkoutActivityType`).
  private static let activities = """
    AmericanFootball Archery AustralianFootball Badminton Barre Baseball Basketball Bowling Boxing
    CardioDance Climbing Cooldown CoreTraining Cricket CrossCountrySkiing CrossTraining Curling
    Cycling Dance DanceInspiredTraining DiscSports DownhillSkiing Elliptical EquestrianSports
    Fencing Fishing FitnessGaming Flexibility FunctionalStrengthTraining Golf Gymnastics
    HandCycling Handball HighIntensityIntervalTraining Hiking Hockey Hunting JumpRope Kickboxing
    Lacrosse MartialArts MindAndBody MixedCardio MixedMetabolicCardioTraining Other PaddleSports
    Pickleball Pilates Play PreparationAndRecovery Racquetball Rowing Rugby Running Sailing
    SkatingSports SnowSports Snowboarding Soccer SocialDance Softball Squash StairClimbing Stairs
    StepTraining SurfingSports SwimBikeRun Swimming TableTennis TaiChi Tennis TrackAndField
    TraditionalStrengthTraining Transition UnderwaterDiving Volleyball Walking WaterFitness
    WaterPolo WaterSports WheelchairRunPace WheelchairWalkPace Wrestling Yoga
    """.split { $0 == " " || $0 == "\n" }.map(String.init)

  /// Kinds, and further words for them. A word for several kinds means each of them.
  private static let otherWords = [
    ("RUNNING", "RUN JOG JOGGING SPRINT SPRINTING TRAIL_RUNNING"),
    ("WALKING", "WALK STROLL STROLLING NORDIC_WALKING"),
    ("RUNNING WALKING", "TREADMILL"),
    ("BIKING", "BIKE BICYCLE BICYCLING CYCLE RIDE SPINNING INDOOR_CYCLING MOUNTAIN_BIKING"),
    ("SWIMMING", "SWIM"), ("HIKING", "HIKE TREKKING"), ("ROWING", "ROW"),
    ("HIGH_INTENSITY_INTERVAL_TRAINING", "HIIT INTERVAL_TRAINING TABATA"),
    (
      "TRADITIONAL_STRENGTH_TRAINING FUNCTIONAL_STRENGTH_TRAINING",
      "STRENGTH STRENGTH_TRAINING WEIGHT_TRAINING WEIGHT_LIFTING LIFTING BODYBUILDING"
    ),
    ("CORE_TRAINING", "CORE ABS"), ("CROSS_TRAINING", "CROSSFIT"),
    ("FLEXIBILITY", "STRETCHING"), ("JUMP_ROPE", "ROPE_SKIPPING"),
    ("DOWNHILL_SKIING CROSS_COUNTRY_SKIING", "SKI SKIING"),
    ("CROSS_COUNTRY_SKIING", "NORDIC_SKIING"), ("DOWNHILL_SKIING", "ALPINE_SKIING"),
    ("SKATING_SPORTS", "SKATE SKATING ICE_SKATING ROLLERBLADING"),
    ("SOCIAL_DANCE CARDIO_DANCE DANCE DANCE_INSPIRED_TRAINING", "DANCING ZUMBA"),
    ("SOCCER AMERICAN_FOOTBALL AUSTRALIAN_FOOTBALL", "FOOTBALL"),
    ("CLIMBING", "CLIMB BOULDERING"), ("MARTIAL_ARTS", "KARATE JUDO TAEKWONDO"),
    ("PADDLE_SPORTS", "PADDLING KAYAKING CANOEING"), ("SURFING_SPORTS", "SURFING KITESURFING"),
    ("EQUESTRIAN_SPORTS", "HORSE_RIDING HORSEBACK_RIDING"), ("TABLE_TENNIS", "PING_PONG"),
    ("UNDERWATER_DIVING", "DIVING SCUBA SCUBA_DIVING SNORKELING"), ("SWIM_BIKE_RUN", "TRIATHLON"),
    ("WHEELCHAIR_WALK_PACE WHEELCHAIR_RUN_PACE", "WHEELCHAIR"),
  ]
}
