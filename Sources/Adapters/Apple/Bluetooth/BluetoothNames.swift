#if canImport(CoreBluetooth)
  import CoreBluetooth
  import Foundation
  import HoldfastCore
  import HoldfastWire

  extension PeripheralID {
    /// Creates the identifier that this device's radio assigned to a peripheral.
    init(_ peripheral: CBPeripheral) {
      let bytes = peripheral.identifier.uuid
      let id = unsafe withUnsafeBytes(of: bytes) { unsafe UUID128(Array($0)) }
      self.init(id)
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
      case 16: self.init(bytes)
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

  extension UUID128 {
    /// Creates a UUID from 16 bytes, most significant first.
    fileprivate init(_ bytes: [UInt8]) {
      self.init(
        high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
        low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// The 16 bytes, most significant first.
    fileprivate var bytes: [UInt8] {
      [high, low].flatMap { word in
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
      }
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
