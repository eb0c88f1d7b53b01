public import Foundation
import Holdfast
public import HoldfastFeaturePorts
public import HoldfastPorts

/// The parts of the device that single features use.
///
/// A launch creates them before it ends, because the system delivers restored connections, changed
/// health data and ended uploads to them.
public struct LinkParts: Sendable {
  /// The radio for the bottle.
  public var radio: (any Central)?
  /// The source of the samples that are synced.
  public var samples: (any HealthSource)?
  /// HealthKit's identifiers of the types that are synced; `nil` for those of the last run or, if
  /// there was none, `SyncTypes.usual`.
  ///
  /// An app that changes its types sets them in each launch, because the launch continues the sync.
  public var types: [String]?
  /// The queue that uploads batches while the app is not running; `nil` to upload them in this
  /// process.
  public var uploads: (any UploadQueue)?
  /// The health data from which an assistant's questions are answered.
  public var health: (any HealthReading)?
  /// HealthKit's identifiers of the types about which assistants may ask, such as
  /// `HealthKitTypes.usual`. The card of the relay lets the user allow `samples` to read them. If
  /// there are none, it does not ask.
  public var questionTypes: [String] = []
  /// The notifier that informs the user of a new assistant, such as a `LocalNotifier`.
  public var notifier: (any Notifier)?
  /// The time zone in which the days of these answers begin; `nil` for the present one of the device.
  public var zone: TimeZone?

  /// Creates parts without any of them. The features then use those of this package.
  public init() {}
}
