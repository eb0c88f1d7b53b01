// A stand-in for Apple's module HealthKit that runs on Linux: types, units and objects. Its
// declarations have the form in which the compiler shows Apple's. What only tests use is marked
// `@_spi(Script)`.
@_exported import Foundation
import Synchronization

public struct HKQuantityTypeIdentifier: RawRepresentable, Hashable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

public struct HKCategoryTypeIdentifier: RawRepresentable, Hashable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

public let HKMetadataKeyTimeZone = "HKTimeZone"
public let HKErrorDomain = "com.apple.healthkit"

public struct HKError: Error, Sendable {
  public enum Code: Int, Sendable {
    case unknownError = 0
    case errorHealthDataUnavailable, errorHealthDataRestricted, errorInvalidArgument
    case errorAuthorizationDenied, errorAuthorizationNotDetermined, errorDatabaseInaccessible
    case errorUserCanceled, errorAnotherWorkoutSessionStarted, errorUserExitedWorkoutSession
    case errorRequiredAuthorizationDenied, errorNoData
  }

  public let code: Code

  @_spi(Script) public init(_ code: Code) { self.code = code }
}

public enum HKUpdateFrequency: Int, Sendable { case immediate = 1, hourly, daily, weekly }

/// The activities that the tests use, with Apple's numbers.
public enum HKWorkoutActivityType: UInt, Sendable {
  case cycling = 13
  case elliptical = 16
  case functionalStrengthTraining = 20
  case hiking = 24
  case rowing = 35
  case running = 37
  case swimming = 46
  case traditionalStrengthTraining = 50
  case walking = 52
  case yoga = 57
  case swimBikeRun = 82
  case other = 3000
}

// MARK: Types

public class HKObjectType: NSObject, @unchecked Sendable {
  public let identifier: String

  fileprivate init(_ identifier: String) { self.identifier = identifier }

  public override func isEqual(_ other: Any?) -> Bool {
    (other as? HKObjectType)?.identifier == identifier
  }

  public override var hash: Int { identifier.hashValue }

  /// Returns `nil` for an identifier that Apple does not know, so that a misspelled one fails.
  public class func quantityType(
    forIdentifier identifier: HKQuantityTypeIdentifier
  ) -> HKQuantityType? {
    isKnown(identifier.rawValue, HKUnit.canonical.keys)
      ? HKQuantityType(identifier.rawValue) : nil
  }

  public class func categoryType(
    forIdentifier identifier: HKCategoryTypeIdentifier
  ) -> HKCategoryType? {
    isKnown(identifier.rawValue, KnownTypes.categories)
      ? HKCategoryType(identifier.rawValue) : nil
  }

  private class func isKnown(_ identifier: String, _ all: some Collection<String>) -> Bool {
    all.contains(identifier) && !ScriptedHealth.lacks.contains(identifier)
  }

  public class func workoutType() -> HKWorkoutType { HKWorkoutType("HKWorkoutTypeIdentifier") }
}

public class HKSampleType: HKObjectType, @unchecked Sendable {}
public class HKQuantityType: HKSampleType, @unchecked Sendable {}
public class HKCategoryType: HKSampleType, @unchecked Sendable {}
public class HKWorkoutType: HKSampleType, @unchecked Sendable {}

// MARK: Units and quantities

public class HKUnit: NSObject, @unchecked Sendable {
  public let unitString: String
  /// The exponents of the base units; `nil` if the text is no unit. Apple raises an exception then.
  let dimension: [String: Int]?
  let factor: Double
  let offset: Double

  public init(from string: String) {
    unitString = string
    var (dimension, factor, offset): ([String: Int]?, Double, Double) = ([:], 1, 0)
    var sign = 1
    var name = ""
    for character in string + "*" {
      guard "/*·".contains(character) else {
        name.append(character)
        continue
      }
      if let atom = Self.atoms[name] {
        dimension?[atom.base, default: 0] += sign
        factor *= sign > 0 ? atom.factor : 1 / atom.factor
        offset = atom.offset
      } else if name != "count" {
        dimension = nil
      }
      // A slash divides by everything that follows it.
      if character == "/" { sign = -1 }
      name = ""
    }
    (self.dimension, self.factor) = (dimension, factor)
    self.offset = offset
  }

  private static let atoms: [String: (base: String, factor: Double, offset: Double)] = [
    "%": ("fraction", 1, 0),
    "g": ("mass", 1, 0), "kg": ("mass", 1_000, 0), "mg": ("mass", 0.001, 0),
    "mcg": ("mass", 1e-6, 0), "mm": ("length", 0.001, 0), "W": ("power", 1, 0),
    "kW": ("power", 1_000, 0), "S": ("conductance", 1, 0), "mcS": ("conductance", 1e-6, 0),
    "IU": ("drug", 1, 0), "dBASPL": ("sound", 1, 0), "appleEffortScore": ("effort", 1, 0),
    "lb": ("mass", 453.59237, 0), "st": ("mass", 6_350.29318, 0),
    "m": ("length", 1, 0), "km": ("length", 1_000, 0), "cm": ("length", 0.01, 0),
    "mi": ("length", 1_609.344, 0), "ft": ("length", 0.3048, 0), "in": ("length", 0.0254, 0),
    "yd": ("length", 0.9144, 0),
    "s": ("time", 1, 0), "ms": ("time", 0.001, 0), "min": ("time", 60, 0), "hr": ("time", 3_600, 0),
    "J": ("energy", 1, 0), "kJ": ("energy", 1_000, 0), "cal": ("energy", 4.184, 0),
    "kcal": ("energy", 4_184, 0), "Cal": ("energy", 4_184, 0),
    "L": ("volume", 1, 0), "mL": ("volume", 0.001, 0), "dL": ("volume", 0.1, 0),
    "ml": ("volume", 0.001, 0), "fl_oz_us": ("volume", 0.0295735295625, 0),
    "fl_oz_imp": ("volume", 0.0284130625, 0),
    "Pa": ("pressure", 1, 0), "kPa": ("pressure", 1_000, 0),
    "mmHg": ("pressure", 133.322387415, 0),
    "K": ("temperature", 1, 0), "degC": ("temperature", 1, 273.15),
    "degF": ("temperature", 5.0 / 9, 459.67),
    "mmol<180.1558800000541>": ("mass", 0.1801558800000541, 0),
  ]

  /// A unit of each quantity type.
  static let canonical = KnownTypes.units
}

public class HKQuantity: NSObject, @unchecked Sendable {
  private let unit: HKUnit
  private let number: Double
  /// The script that records wrong uses. It is set when a sample is added.
  private let script = Mutex<ScriptedHealth?>(nil)

  public init(unit: HKUnit, doubleValue value: Double) { (self.unit, number) = (unit, value) }

  func join(_ script: ScriptedHealth) { self.script.withLock { $0 = script } }

  public func `is`(compatibleWith unit: HKUnit) -> Bool {
    guard let dimension = unit.dimension else {
      note("\(unit.unitString) is no unit")
      return false
    }
    return dimension.filter { $0.value != 0 } == self.unit.dimension?.filter { $0.value != 0 }
  }

  /// Apple raises an exception for an incompatible unit, which ends the app.
  public func doubleValue(for unit: HKUnit) -> Double {
    guard self.is(compatibleWith: unit) else {
      note("a quantity in \(self.unit.unitString) was read in \(unit.unitString)")
      return .nan
    }
    if unit.unitString == self.unit.unitString { return number }
    return (number + self.unit.offset) * self.unit.factor / unit.factor - unit.offset
  }

  private func note(_ misuse: String) { script.withLock { $0 }?.note(misuse) }
}

// MARK: Objects

public class HKSource: NSObject, @unchecked Sendable {
  public let name: String

  @_spi(Script) public init(_ name: String) { self.name = name }
}

public class HKSourceRevision: NSObject, @unchecked Sendable {
  public let source: HKSource

  init(_ source: HKSource) { self.source = source }
}

public class HKDevice: NSObject, @unchecked Sendable {
  public let name: String?
  public let manufacturer: String?
  public let model: String?
  public let hardwareVersion: String?
  public let firmwareVersion: String?
  public let softwareVersion: String?

  @_spi(Script) public init(
    name: String? = nil, manufacturer: String? = nil, model: String? = nil,
    hardware: String? = nil, firmware: String? = nil, software: String? = nil
  ) {
    (self.name, self.manufacturer, self.model) = (name, manufacturer, model)
    (hardwareVersion, firmwareVersion, softwareVersion) = (hardware, firmware, software)
  }
}

public class HKObject: NSObject, @unchecked Sendable {
  public let uuid: UUID
  public let sourceRevision: HKSourceRevision
  public let device: HKDevice?
  public let metadata: [String: Any]?

  fileprivate init(_ facts: SampleFacts) {
    uuid = facts.uuid
    sourceRevision = HKSourceRevision(facts.source)
    (device, metadata) = (facts.device, facts.metadata)
  }
}

/// The attributes of every scripted sample.
@_spi(Script) public struct SampleFacts: @unchecked Sendable {
  public var uuid = UUID()
  public var start: Date
  public var end: Date
  public var source: HKSource
  public var device: HKDevice?
  public var metadata: [String: Any]?

  public init(start: Date, end: Date, source: HKSource = HKSource("Phone")) {
    (self.start, self.end, self.source) = (start, end, source)
  }
}

public class HKSample: HKObject, @unchecked Sendable {
  public let sampleType: HKSampleType
  public let startDate: Date
  public let endDate: Date

  @_spi(Script) public init(_ type: HKSampleType, _ facts: SampleFacts) {
    (sampleType, startDate, endDate) = (type, facts.start, facts.end)
    super.init(facts)
  }

  /// The quantities whose uses a script records.
  var quantities: [HKQuantity] { [] }
}

public class HKQuantitySample: HKSample, @unchecked Sendable {
  public let quantity: HKQuantity

  @_spi(Script) public init(_ type: HKSampleType, _ quantity: HKQuantity, _ facts: SampleFacts) {
    self.quantity = quantity
    super.init(type, facts)
  }

  override var quantities: [HKQuantity] { [quantity] }
}

public class HKCategorySample: HKSample, @unchecked Sendable {
  public let value: Int

  @_spi(Script) public init(_ type: HKSampleType, _ value: Int, _ facts: SampleFacts) {
    self.value = value
    super.init(type, facts)
  }
}

public class HKStatistics: NSObject, @unchecked Sendable {
  let sum: HKQuantity?

  @_spi(Script) public init(sum: HKQuantity?) { self.sum = sum }

  public func sumQuantity() -> HKQuantity? { sum }
}

public class HKWorkout: HKSample, @unchecked Sendable {
  public let workoutActivityType: HKWorkoutActivityType
  public let duration: TimeInterval
  public let allStatistics: [HKQuantityType: HKStatistics]

  @_spi(Script) public init(
    _ activity: HKWorkoutActivityType, lasting duration: TimeInterval,
    _ statistics: [HKQuantityType: HKStatistics], _ facts: SampleFacts
  ) {
    (workoutActivityType, self.duration, allStatistics) = (activity, duration, statistics)
    super.init(HKObjectType.workoutType(), facts)
  }

  override var quantities: [HKQuantity] { allStatistics.values.compactMap(\.sum) }
}

public class HKDeletedObject: NSObject, @unchecked Sendable {
  public let uuid: UUID

  init(_ uuid: UUID) { self.uuid = uuid }
}

public class HKQueryAnchor: NSObject, NSSecureCoding, @unchecked Sendable {
  let place: Int

  init(_ place: Int) { self.place = place }

  public static var supportsSecureCoding: Bool { true }

  public required init?(coder: NSCoder) { place = Int(coder.decodeInt64(forKey: "place")) }

  public func encode(with coder: NSCoder) { coder.encode(Int64(place), forKey: "place") }
}
