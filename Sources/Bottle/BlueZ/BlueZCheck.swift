#if os(Linux)
  import HoldfastLinuxDevice

  /// A reason why Bluetooth cannot be used on this machine, with human-readable texts.
  public enum BlueZProblem: Error, Sendable, Hashable {
    case noBus(String)
    case noDaemon
    case notAllowed
    case noAdapter(String?, others: [String])

    /// A description of the problem.
    public var text: String {
      switch self {
      case .noBus(let reason): "there is no system bus to reach Bluetooth: \(reason)"
      case .noDaemon: "bluetoothd is not running"
      case .notAllowed: "this user may not use Bluetooth"
      case .noAdapter(nil, _): "this machine has no Bluetooth adapter"
      case .noAdapter(.some(let name), _): "there is no Bluetooth adapter \(name)"
      }
    }

    /// A description of what the user can do about the problem.
    public var remedy: String {
      switch self {
      case .noBus: "start the D-Bus daemon"
      case .noDaemon: "install the package bluez and start it (systemctl start bluetooth)"
      case .notAllowed: "add the user to the group bluetooth, and log in again"
      case .noAdapter(_, let others) where !others.isEmpty:
        "choose one of \(others.joined(separator: ", "))"
      case .noAdapter: "plug one in (rfkill and bluetoothctl list show them)"
      }
    }
  }

  /// A check whether Bluetooth can be used on this machine.
  public enum BlueZCheck {
    /// Requests the list of adapters from BlueZ. An adapter that is off is not a problem.
    ///
    /// - Parameters:
    ///   - adapter: The name of the adapter, such as `hci0`; `nil` for any adapter.
    ///   - address: A D-Bus address; `nil` for the system bus.
    /// - Throws: The ``BlueZProblem`` that prevents the use of Bluetooth.
    public static func run(
      adapter: String? = nil, address: String? = nil
    ) throws(BlueZProblem) {
      let listed: Result<[BusData], BusRefusal>?
      do throws(BusFailure) {
        let bus = try BusPeer(address: address, or: .system)
        let owner = try bus.ask(
          "org.freedesktop.DBus",
          BusMember(
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
            [.text(BlueZName.service)]))
        if case .success = owner {
          listed = try bus.ask(
            BlueZName.service, BusMember("/", BlueZName.manager, "GetManagedObjects"))
        } else {
          listed = nil
        }
      } catch {
        throw .noBus(error.description)
      }
      guard let listed else { throw .noDaemon }
      guard case .success(let values) = listed else { throw .notAllowed }
      let paths = BlueZObjects(values.first?.objects ?? [:]).adapters
      let names = paths.compactMap { $0.split(separator: "/").last.map(String.init) }
      guard adapter.map(names.contains) ?? !names.isEmpty else {
        throw .noAdapter(adapter, others: names)
      }
    }
  }
#endif
