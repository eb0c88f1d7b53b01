import Synchronization

/// A call of the app that a script answers on the manager's queue.
@_spi(Script) public enum RadioCall {
  case made(restoring: String?)
  case scan([CBUUID]?)
  case stopScan
  case connect(CBPeripheral, [String: Any])
  case cancel(CBPeripheral)
  case services(CBPeripheral, [CBUUID]?)
  case characteristics(CBPeripheral, CBService, [CBUUID]?)
  case notify(CBPeripheral, CBCharacteristic, Bool)
  case read(CBPeripheral, CBCharacteristic)
  case write(CBPeripheral, CBCharacteristic, Data, CBCharacteristicWriteType)

  var name: String {
    switch self {
    case .made: "init"
    case .scan: "scan"
    case .stopScan: "stopScan"
    case .connect: "connect"
    case .cancel: "cancelPeripheralConnection"
    case .services: "discoverServices"
    case .characteristics: "discoverCharacteristics"
    case .notify: "setNotifyValue"
    case .read: "readValue"
    case .write: "writeValue"
    }
  }
}

/// The script of the managers that are made while it is current.
///
/// It is task-local, so that tests that run in parallel do not share one:
///
///     let radio = ScriptedRadio()
///     let central = ScriptedRadio.$current.withValue(radio) { CoreBluetoothCentral() }
@_spi(Script) public final class ScriptedRadio: @unchecked Sendable {
  // `take` and `retrieve` are set before a manager is made, and not changed later. Everything else
  // is behind a lock.
  @TaskLocal public static var current: ScriptedRadio?

  /// Handles a call of the app.
  public var take: ((CBCentralManager, RadioCall) -> Void)?
  /// Returns the peripheral with an identifier, if the system knows it.
  public var retrieve: ((CBCentralManager, UUID) -> CBPeripheral?)?
  private let lists = Mutex(Lists())

  private struct Lists {
    var misuses: [String] = []
    var unanswered: [String] = []
  }

  public init() {}

  /// The calls that the real framework drops, or for which it ends the app.
  public var misuses: [String] { lists.withLock(\.misuses) }
  /// The callbacks that the app does not implement.
  public var unanswered: [String] { lists.withLock(\.unanswered) }

  func misused(_ text: String) { lists.withLock { $0.misuses.append(text) } }
  func unanswered(_ text: String) { lists.withLock { $0.unanswered.append(text) } }
}
