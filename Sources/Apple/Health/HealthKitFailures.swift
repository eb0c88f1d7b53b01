#if canImport(HealthKit)
  import HealthKit
  import HoldfastCore
  import HoldfastSyncData

  /// The reason of an error of HealthKit.
  enum HealthKitFailure: Error, Hashable {
    case locked
    /// The user was not asked about the type.
    case notAsked
    case noData
    case other(detail: String)

    init(_ error: any Error) {
      switch (error as? HKError)?.code {
      case .errorDatabaseInaccessible?: self = .locked
      case .errorAuthorizationNotDetermined?: self = .notAsked
      case .errorNoData?: self = .noData
      case _: self = .other(detail: "HealthKit failed: \(error)")
      }
    }

    /// The failure of a type that cannot be read.
    static func unknown(_ type: String) -> Self {
      .other(detail: "the type \(type) is unknown and cannot be read from HealthKit")
    }

    var detail: String {
      switch self {
      case .locked: "the device is locked"
      case .notAsked: "the user was not asked for permission to read this type"
      case .noData: "HealthKit has no data"
      case .other(let detail): detail
      }
    }
  }

  extension HealthSourceFailure {
    init(_ failure: HealthKitFailure) {
      self =
        failure == .locked ? .locked(detail: failure.detail) : .failed(detail: failure.detail)
    }
  }

  extension StoreFailure {
    init(_ failure: HealthKitFailure) {
      switch failure {
      case .locked: self = .locked(detail: failure.detail)
      case .notAsked: self = .denied(detail: failure.detail)
      case .noData, .other: self = .other(detail: failure.detail)
      }
    }
  }
#endif
