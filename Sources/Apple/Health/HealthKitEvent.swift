#if canImport(HealthKit)
  /// An event of HealthKit that concerns one type.
  ///
  /// The events show whether the system wakes the app. What the app has to do is in its source's
  /// wakes.
  public enum HealthKitEvent: Sendable, Hashable {
    /// HealthKit delivers changes of the type in the background.
    case delivered(type: String)
    /// HealthKit refused to deliver changes of the type in the background.
    case undelivered(type: String, reason: String)
    /// HealthKit called the observer of the type.
    case fired(type: String)
    /// HealthKit called the observer of the type with an error.
    case failed(type: String, reason: String)
  }
#endif
