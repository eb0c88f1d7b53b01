@_spi(Script) import CoreBluetooth
import HoldfastBottleData
import HoldfastCore
import HoldfastTestKit

/// A peripheral in range of a `FakeBluetooth`. Its state is confined to the queue of the manager.
final class FakeDevice: @unchecked Sendable {
  enum Link { case none, pending, connected }

  let identifier: UUID
  let name: String
  let profile: [(service: CBUUID, characteristics: [CBUUID])]
  var longestValue = 244
  var isAdvertising = false
  var isInRange = true
  /// Whether the system knows the identifier.
  var isKnown = true
  /// Whether automatic reconnection is refused as an invalid parameter.
  var refusesReconnection = false
  /// Whether the system has the characteristics of an earlier connection, and adds them to the
  /// services that it discovers.
  var isCached = false
  var link = Link.none
  var options: [String: Any] = [:]
  /// The number of connects that the app asked for, and the delay of the last one in seconds.
  var connects = 0
  var delay = 0
  /// Whether a pending connect waits for its delay.
  var isResting = false
  /// Whether this launch has connected the peripheral.
  var isLocal = false
  /// The number of the connection, which also counts ends.
  var generation = 0
  /// The object of this launch.
  var peripheral: CBPeripheral?
  /// The receiver of what the app does to the peripheral.
  var tell: ((FarPeripheralEvent) -> Void)?
  private var lastRequest: UInt16 = 0
  private var requests: [UInt16: Request] = [:]

  private struct Request {
    let characteristic: CBCharacteristic
    let isRead: Bool
    let generation: Int
  }

  init(_ number: UInt8, name: String, profile: [(service: GATTID, characteristics: [GATTID])]) {
    identifier = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))
    self.name = name
    self.profile = profile.map { ($0.service.short, $0.characteristics.map(\.short)) }
  }

  /// The identifier as the port has it.
  var id: PeripheralID { PeripheralID(UUID128(high: 0, low: UInt64(identifier.uuid.15))) }

  func discover(_ wanted: [CBUUID]?, _ system: FakeBluetooth) {
    guard let peripheral else { return }
    let found = profile.map(\.service).filter { wanted?.contains($0) ?? true }
    answer(system) {
      let known = peripheral.scriptedServices ?? []
      let new = found.filter { id in !known.contains { $0.uuid == id } }
      peripheral.scriptedServices = known + new.map { self.service($0, of: peripheral) }
      peripheral.delegate?.peripheral(peripheral, didDiscoverServices: nil)
    }
  }

  private func service(_ id: CBUUID, of peripheral: CBPeripheral) -> CBService {
    let made = CBService(id, of: peripheral)
    if isCached {
      made.scriptedCharacteristics = profile.first { $0.service == id }?.characteristics
        .map { CBCharacteristic($0, of: made) }
    }
    return made
  }

  func discover(_ wanted: [CBUUID]?, of service: CBService, _ system: FakeBluetooth) {
    guard let peripheral else { return }
    let all = profile.first { $0.service == service.uuid }?.characteristics ?? []
    answer(system) {
      let known = service.scriptedCharacteristics ?? []
      let new = all.filter { id in
        wanted?.contains(id) ?? true && !known.contains { $0.uuid == id }
      }
      service.scriptedCharacteristics = known + new.map { CBCharacteristic($0, of: service) }
      peripheral.delegate?.peripheral(
        peripheral, didDiscoverCharacteristicsFor: service, error: nil)
    }
  }

  func notify(_ characteristic: CBCharacteristic, _ isOn: Bool, _ system: FakeBluetooth) {
    guard let peripheral else { return }
    answer(system) {
      characteristic.scriptedNotifying = isOn
      peripheral.delegate?.peripheral(
        peripheral, didUpdateNotificationStateFor: characteristic, error: nil)
    }
  }

  func read(_ characteristic: CBCharacteristic) {
    let number = add(characteristic, isRead: true)
    tell?(.read(number, GATTID(long: characteristic.uuid)))
  }

  func write(_ characteristic: CBCharacteristic, _ bytes: [UInt8]) {
    let number = add(characteristic, isRead: false)
    tell?(.write(number, GATTID(long: characteristic.uuid), bytes))
  }

  private func add(_ characteristic: CBCharacteristic, isRead: Bool) -> UInt16 {
    lastRequest &+= 1
    requests[lastRequest] = Request(
      characteristic: characteristic, isRead: isRead, generation: generation)
    return lastRequest
  }

  /// Answers a read or write. `nil` refuses it.
  func reply(_ number: UInt16, _ bytes: [UInt8]?, _ system: FakeBluetooth) {
    guard let peripheral, let request = requests.removeValue(forKey: number),
      request.generation == generation
    else { return }
    let error = bytes == nil ? CBATTError(.writeNotPermitted) : nil
    let characteristic = request.characteristic
    answer(system) {
      if request.isRead {
        characteristic.scriptedValue = bytes.map { Data($0) }
        peripheral.delegate?.peripheral(
          peripheral, didUpdateValueFor: characteristic, error: error)
      } else {
        peripheral.delegate?.peripheral(peripheral, didWriteValueFor: characteristic, error: error)
      }
    }
  }

  /// Sends a value as a notification, if the app has subscribed to it in this launch.
  func notify(_ id: GATTID, _ bytes: [UInt8], _ system: FakeBluetooth) {
    guard let peripheral, link == .connected, isLocal else { return }
    let all = (peripheral.services ?? []).flatMap { $0.characteristics ?? [] }
    guard let found = all.first(where: { $0.uuid == id.short }), found.isNotifying else { return }
    answer(system) {
      found.scriptedValue = Data(bytes)
      peripheral.delegate?.peripheral(peripheral, didUpdateValueFor: found, error: nil)
    }
  }

  /// Replaces the services by new ones.
  func changeServices() {
    guard let peripheral else { return }
    let old = peripheral.scriptedServices ?? []
    peripheral.scriptedServices = nil
    peripheral.delegate?.peripheral(peripheral, didModifyServices: old)
  }

  /// Gives a kept peripheral the services and subscriptions of the earlier launch.
  func subscribedServices(of peripheral: CBPeripheral) {
    peripheral.scriptedServices = profile.map { part in
      let service = CBService(part.service, of: peripheral)
      service.scriptedCharacteristics = part.characteristics.map {
        let characteristic = CBCharacteristic($0, of: service)
        characteristic.scriptedNotifying = true
        return characteristic
      }
      return service
    }
  }

  /// Delivers an answer, unless the connection has ended by then.
  private func answer(_ system: FakeBluetooth, _ work: @escaping () -> Void) {
    let connection = generation
    system.later { [self] in if connection == generation { work() } }
  }
}

extension GATTID {
  /// The UUID as Core Bluetooth reports it: the short form for assigned numbers.
  var short: CBUUID {
    let digits = description
    return CBUUID(
      string: digits.hasSuffix("-0000-1000-8000-00805F9B34FB") && digits.hasPrefix("0000")
        ? String(digits.dropFirst(4).prefix(4)) : digits)
  }

  /// Creates the UUID that Core Bluetooth reports in its short or long form.
  init(long id: CBUUID) {
    let digits = id.uuidString
    let text = digits.count == 4 ? "0000\(digits)-0000-1000-8000-00805F9B34FB" : digits
    guard let known = GATTID(text) else { preconditionFailure("no UUID: \(digits)") }
    self = known
  }
}
