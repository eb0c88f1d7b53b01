// A stand-in for Apple's module CoreBluetooth that runs on Linux. What adapters may use is public
// and declared as Apple's importer shows it. What tests use is `@_spi(Script)`.
@_exported import Dispatch
@_exported import Foundation

/// The number of seconds since January 1, 2001.
///
/// Foundation on Linux does not declare it.
public typealias CFAbsoluteTime = Double

public enum CBManagerState: Int, Sendable {
  case unknown, resetting, unsupported, unauthorized, poweredOff, poweredOn
}

public enum CBPeripheralState: Int, Sendable {
  case disconnected, connecting, connected, disconnecting
}

public enum CBCharacteristicWriteType: Int, Sendable {
  case withResponse, withoutResponse
}

/// An error of the radio or of a connection.
public struct CBError: Error, Equatable {
  public enum Code: Int, Sendable {
    case unknown, invalidParameters, invalidHandle, notConnected, outOfSpace, operationCancelled,
      connectionTimeout, peripheralDisconnected, uuidNotAllowed, alreadyAdvertising,
      connectionFailed, connectionLimitReached, unknownDevice, operationNotSupported,
      peerRemovedPairingInformation, encryptionTimedOut, tooManyLEPairedDevices
  }

  public let code: Code

  public init(_ code: Code) { self.code = code }
}

/// An error with which a peripheral refuses a request.
public struct CBATTError: Error, Equatable {
  public enum Code: Int, Sendable {
    case success, invalidHandle, readNotPermitted, writeNotPermitted, invalidPdu,
      insufficientAuthentication, requestNotSupported, invalidOffset, insufficientAuthorization,
      prepareQueueFull, attributeNotFound, attributeNotLong, insufficientEncryptionKeySize,
      invalidAttributeValueLength, unlikelyError, insufficientEncryption, unsupportedGroupType,
      insufficientResources
  }

  public let code: Code

  public init(_ code: Code) { self.code = code }
}

public let CBCentralManagerOptionRestoreIdentifierKey: String = "kCBInitOptionRestoreIdentifier"
public let CBCentralManagerRestoredStatePeripheralsKey: String = "kCBRestoredPeripherals"
public let CBAdvertisementDataLocalNameKey: String = "kCBAdvDataLocalName"
public let CBConnectPeripheralOptionNotifyOnConnectionKey: String =
  "kCBConnectOptionNotifyOnConnection"
public let CBConnectPeripheralOptionNotifyOnDisconnectionKey: String =
  "kCBConnectOptionNotifyOnDisconnection"
public let CBConnectPeripheralOptionNotifyOnNotificationKey: String =
  "kCBConnectOptionNotifyOnNotification"
public let CBConnectPeripheralOptionStartDelayKey: String = "kCBConnectOptionStartDelay"
public let CBConnectPeripheralOptionEnableAutoReconnect: String =
  "kCBConnectOptionEnableAutoReconnect"

/// A UUID of 2, 4 or 16 bytes.
///
/// Unlike Apple's class, the stand-in treats the short and the long form of an assigned UUID as
/// different, so that an adapter that depends on either behavior fails a test.
open class CBUUID: NSObject {
  public let data: Data

  public init(string theString: String) {
    let digits = Array(theString.utf8.filter { $0 != UInt8(ascii: "-") })
    precondition([4, 8, 32].contains(digits.count), "Apple's class raises an exception")
    data = Data(
      stride(from: 0, to: digits.count, by: 2).map { index in
        UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0
      })
  }

  public var uuidString: String {
    let digits = Array(
      data.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined())
    guard data.count == 16 else { return String(digits).uppercased() }
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
      .joined(separator: "-").uppercased()
  }

  public override func isEqual(_ object: Any?) -> Bool { (object as? CBUUID)?.data == data }
  public override var hash: Int { data.hashValue }
}

/// A radio whose state changes.
open class CBManager: NSObject {
  @_spi(Script) public var scriptedState = CBManagerState.unknown

  override init() { super.init() }

  public var state: CBManagerState { scriptedState }
}

/// A device in range of the radio.
open class CBPeer: NSObject {
  public let identifier: UUID

  init(_ identifier: UUID) { self.identifier = identifier }
}

/// A service or characteristic.
open class CBAttribute: NSObject {
  public let uuid: CBUUID

  init(_ uuid: CBUUID) { self.uuid = uuid }
}

/// A service of a peripheral.
open class CBService: CBAttribute {
  public private(set) weak var peripheral: CBPeripheral?
  @_spi(Script) public var scriptedCharacteristics: [CBCharacteristic]?

  /// Creates a service whose characteristics are not discovered.
  @_spi(Script) public init(_ uuid: CBUUID, of peripheral: CBPeripheral) {
    self.peripheral = peripheral
    super.init(uuid)
  }

  public var characteristics: [CBCharacteristic]? { scriptedCharacteristics }
}

/// A characteristic of a service.
open class CBCharacteristic: CBAttribute {
  public private(set) weak var service: CBService?
  @_spi(Script) public var scriptedValue: Data?
  @_spi(Script) public var scriptedNotifying = false

  @_spi(Script) public init(_ uuid: CBUUID, of service: CBService) {
    self.service = service
    super.init(uuid)
  }

  public var value: Data? { scriptedValue }
  public var isNotifying: Bool { scriptedNotifying }
}

/// A peripheral that the radio found or that the system kept.
open class CBPeripheral: CBPeer {
  public weak var delegate: (any CBPeripheralDelegate)?
  @_spi(Script) public private(set) weak var manager: CBCentralManager?
  @_spi(Script) public var scriptedState = CBPeripheralState.disconnected
  @_spi(Script) public var scriptedName: String?
  @_spi(Script) public var scriptedServices: [CBService]?
  @_spi(Script) public var longestValue = 20
  /// Whether the radio was reset since this object was made. Its use is then a misuse.
  @_spi(Script) public var isInvalid = false

  @_spi(Script) public init(_ identifier: UUID, name: String?, of manager: CBCentralManager) {
    self.manager = manager
    scriptedName = name
    super.init(identifier)
  }

  public var state: CBPeripheralState { scriptedState }
  public var name: String? { scriptedName }
  public var services: [CBService]? { scriptedServices }

  public func discoverServices(_ serviceUUIDs: [CBUUID]?) {
    request(.services(self, serviceUUIDs))
  }

  public func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {
    check(service)
    request(.characteristics(self, service, characteristicUUIDs))
  }

  public func readValue(for characteristic: CBCharacteristic) {
    check(characteristic)
    request(.read(self, characteristic))
  }

  public func writeValue(
    _ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType
  ) {
    check(characteristic)
    request(.write(self, characteristic, data, type))
  }

  public func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
    check(characteristic)
    request(.notify(self, characteristic, enabled))
  }

  public func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int { longestValue }

  /// Passes a request to the script. The real class drops requests without a connection.
  private func request(_ call: RadioCall) {
    guard let manager, manager.state == .poweredOn, state == .connected, !isInvalid else {
      manager?.radio?.misused("\(call.name) without a connection")
      return
    }
    manager.call(call)
  }

  private func check(_ service: CBService) {
    guard services?.contains(where: { $0 === service }) != true else { return }
    manager?.radio?.misused("the service belongs to an earlier connection")
  }

  private func check(_ characteristic: CBCharacteristic) {
    guard let service = characteristic.service,
      service.characteristics?.contains(where: { $0 === characteristic }) == true
    else {
      manager?.radio?.misused("the characteristic belongs to an earlier connection")
      return
    }
    check(service)
  }
}

/// The radio of this device, for an app that connects to peripherals.
open class CBCentralManager: CBManager {
  public weak var delegate: (any CBCentralManagerDelegate)?
  public private(set) var isScanning = false
  @_spi(Script) public let queue: DispatchQueue
  /// The script that was current when the manager was made.
  @_spi(Script) public let radio: ScriptedRadio?

  public init(
    delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?,
    options: [String: Any]? = nil
  ) {
    self.delegate = delegate
    self.queue = queue ?? .main
    radio = ScriptedRadio.current
    super.init()
    call(.made(restoring: options?[CBCentralManagerOptionRestoreIdentifierKey] as? String))
  }

  public func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] {
    guard isOn("retrievePeripherals") else { return [] }
    return identifiers.compactMap { radio?.retrieve?(self, $0) }
  }

  public func scanForPeripherals(
    withServices serviceUUIDs: [CBUUID]?, options: [String: Any]? = nil
  ) {
    guard isOn("scan") else { return }
    isScanning = true
    call(.scan(serviceUUIDs))
  }

  public func stopScan() {
    guard isOn("stopScan") else { return }
    isScanning = false
    call(.stopScan)
  }

  public func connect(_ peripheral: CBPeripheral, options: [String: Any]? = nil) {
    guard isOn("connect"), isMine(peripheral) else { return }
    if peripheral.state == .disconnected { peripheral.scriptedState = .connecting }
    call(.connect(peripheral, options ?? [:]))
  }

  public func cancelPeripheralConnection(_ peripheral: CBPeripheral) {
    guard isOn("cancelPeripheralConnection"), isMine(peripheral) else { return }
    call(.cancel(peripheral))
  }

  /// Turns the scan on or off that the system kept for the app.
  @_spi(Script) public func keepScan(_ isKept: Bool) { isScanning = isKept }

  /// Whether the delegate does not implement the older callback of a disconnection.
  var lacksOlderCallback = false

  /// Reports the end of a connection. Like the real class, it makes the newer callback only if the
  /// delegate does not implement the older one.
  @_spi(Script) public func report(
    gone peripheral: CBPeripheral, isReconnecting: Bool, error: (any Error)?
  ) {
    lacksOlderCallback = false
    delegate?.centralManager(self, didDisconnectPeripheral: peripheral, error: error)
    guard lacksOlderCallback else { return }
    delegate?.centralManager(
      self, didDisconnectPeripheral: peripheral, timestamp: 0, isReconnecting: isReconnecting,
      error: error)
  }

  func call(_ call: RadioCall) { radio?.take?(self, call) }

  /// Returns whether the radio is on. The real class drops a call before that, and logs a misuse.
  private func isOn(_ name: String) -> Bool {
    if state == .poweredOn { return true }
    radio?.misused("\(name) while the radio is not on")
    return false
  }

  private func isMine(_ peripheral: CBPeripheral) -> Bool {
    if peripheral.manager === self, !peripheral.isInvalid { return true }
    radio?.misused("the peripheral belongs to an earlier launch, or the radio was reset")
    return false
  }
}
