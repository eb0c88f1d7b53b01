#if os(Linux)
  import CHoldfastSystemd
  import Glibc
  package import HoldfastLinuxEvents

  /// A property of an object on a bus.
  package struct BusProperty: Sendable, Hashable {
    package let service: String
    package let path: String
    package let interface: String
    package let name: String
    package let kind: Kind

    package enum Kind: Sendable, Hashable {
      case boolean, number, text
    }

    package init(
      _ service: String, _ path: String, _ interface: String, _ name: String, _ kind: Kind
    ) {
      (self.service, self.path, self.interface) = (service, path, interface)
      (self.name, self.kind) = (name, kind)
    }
  }

  /// The value of a property.
  package enum BusValue: Sendable, Hashable {
    case boolean(Bool)
    case number(UInt32)
    case text(String)
  }

  /// A reader of properties. It reads them again whenever their services report a change.
  ///
  /// An instance must be used by one thread. A service that is not running is not started, and its
  /// properties have no values.
  @safe package final class BusWatch {
    private let connection: BusConnection
    private let properties: [BusProperty]
    private var isStale = true

    /// Starts watching properties.
    ///
    /// - Parameter address: A D-Bus address; `nil` for the system bus.
    package init(address: String?, _ properties: [BusProperty]) throws(BusFailure) {
      self.properties = properties
      connection = try BusConnection(address: address, or: .system)
      let note: sd_bus_message_handler_t = { _, context, _ in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<BusWatch>.fromOpaque(context).takeUnretainedValue().isStale = true
        return 0
      }
      // The context stays valid: the matches end with the connection, which this object owns.
      let context = unsafe Unmanaged.passUnretained(self).toOpaque()
      for service in Set(properties.map(\.service)).sorted() {
        // An object's signals may have a different path from the one at which its properties are
        // read.
        try BusFailure.check(
          unsafe sd_bus_match_signal(
            connection.bus, nil, service, nil, "org.freedesktop.DBus.Properties",
            "PropertiesChanged", note, context), "match")
      }
      // The start or end of a service changes all of its properties.
      try BusFailure.check(
        unsafe sd_bus_match_signal(
          connection.bus, nil, "org.freedesktop.DBus", nil, "org.freedesktop.DBus",
          "NameOwnerChanged", note, context), "match")
    }

    /// Delivers the values immediately, and then after each change until `stop` is sent.
    package func listen(
      until stop: StopSignal, _ deliver: ([BusProperty: BusValue]) -> Void
    ) throws(BusFailure) {
      var last: [BusProperty: BusValue]?
      repeat {
        try connection.handle()
        if isStale {
          isStale = false
          let values = read()
          if values != last { deliver(values) }
          last = values
          // Signals that arrived with the replies are queued in this process rather than in the
          // kernel.
          continue
        }
        guard connection.allowsWaiting(until: stop) else { return }
      } while true
    }

    private func read() -> [BusProperty: BusValue] {
      var values: [BusProperty: BusValue] = [:]
      for property in properties where isThere(property.service) {
        values[property] = value(of: property)
      }
      return values
    }

    private func isThere(_ service: String) -> Bool {
      var owner: OpaquePointer?
      defer { unsafe sd_bus_creds_unref(owner) }
      return unsafe sd_bus_get_name_creds(connection.bus, service, 0, &owner) >= 0
    }

    private func value(of property: BusProperty) -> BusValue? {
      switch property.kind {
      case .boolean: trivial(property, "b").map { .boolean($0 != 0) }
      case .number: trivial(property, "u").map { .number($0) }
      case .text: text(property).map { .text($0) }
      }
    }

    /// Returns the value of a property whose type has four bytes.
    private func trivial(_ property: BusProperty, _ type: Character) -> UInt32? {
      var value: UInt32 = 0
      let kind = type.asciiValue.map { CChar(bitPattern: $0) } ?? 0
      let result = unsafe sd_bus_get_property_trivial(
        connection.bus, property.service, property.path, property.interface, property.name, nil,
        kind, &value)
      return result >= 0 ? value : nil
    }

    private func text(_ property: BusProperty) -> String? {
      var found: UnsafeMutablePointer<CChar>?
      defer { unsafe free(found) }
      guard
        unsafe sd_bus_get_property_string(
          connection.bus, property.service, property.path, property.interface, property.name, nil,
          &found) >= 0, let text = unsafe found
      else { return nil }
      return unsafe String(cString: text)
    }
  }
#endif
