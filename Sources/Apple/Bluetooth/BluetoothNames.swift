#if canImport(CoreBluetooth)
  import CoreBluetooth
  import Foundation
  import HoldfastCore
  import HoldfastBottleData

  extension PeripheralID {
    /// Creates the identifier that this device's radio assigned to a peripheral.
    init(_ peripheral: CBPeripheral) {
      let uuid = peripheral.identifier.uuid
      self.init(unsafe withUnsafeBytes(of: uuid) { unsafe UUID128(bytes: $0) })
    }

    /// The identifier in the form that Core Bluetooth uses.
    var bluetooth: UUID {
      var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      unsafe withUnsafeMutableBytes(of: &bytes) { unsafe $0.copyBytes(from: id.bytes) }
      return UUID(uuid: bytes)
    }
  }

  extension GATTID {
    /// The digits that all UUIDs of the Bluetooth SIG have in common (Core Specification, volume 3,
    /// part B, 2.5.1).
    private static let base = GATTID(high: 0x1000, low: 0x8000_0080_5F9B_34FB)

    /// Creates a UUID from its short or long form. Returns `nil` for a length that UUIDs do not
    /// have.
    init?(_ id: CBUUID) {
      let bytes = [UInt8](id.data)
      switch bytes.count {
      case 2, 4:
        let number = bytes.reduce(0) { $0 << 8 | UInt64($1) }
        self.init(high: number << 32 | Self.base.high, low: Self.base.low)
      case 16: self.init(bytes: bytes)
      case _: return nil
      }
    }

    /// The UUID in the form that Core Bluetooth uses: the short form for assigned numbers.
    var bluetooth: CBUUID {
      let number = high >> 32
      guard low == Self.base.low, high & 0xFFFF_FFFF == Self.base.high, number <= 0xFFFF else {
        return CBUUID(string: description)
      }
      let digits = String(number, radix: 16)
      return CBUUID(string: String(repeating: "0", count: 4 - digits.count) + digits)
    }
  }

  extension AdapterState {
    /// Creates the state that Core Bluetooth reports.
    init(_ state: CBManagerState) {
      switch state {
      case .poweredOn: self = .on
      case .poweredOff: self = .off
      case .unauthorized: self = .unauthorised
      case .unsupported: self = .unsupported
      case .resetting: self = .resetting
      case .unknown: self = .unknown
      @unknown default: self = .unknown
      }
    }
  }

  extension LinkFailure {
    /// Creates the failure for an error of Core Bluetooth, which gives none for some ends.
    init(_ error: (any Error)?) {
      if let refusal = error as? CBATTError {
        self = .protocolError(detail: "the peripheral refused: ATT \(refusal.code.rawValue)")
        return
      }
      guard let failed = error as? CBError else {
        self = error.map { .local(detail: "\($0)") } ?? .reset
        return
      }
      switch failed.code {
      case .connectionTimeout: self = .timeout(.silence)
      case .peripheralDisconnected: self = .ended
      case .notConnected, .connectionFailed: self = .reset
      case .connectionLimitReached: self = .local(detail: "this device has too many connections")
      case .peerRemovedPairingInformation:
        self = .protocolError(detail: "the peripheral removed its pairing")
      case let code: self = .local(detail: "Core Bluetooth reports error \(code.rawValue)")
      }
    }
  }
#endif
