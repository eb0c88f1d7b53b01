import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A simulated phone with two network paths, built from network namespaces, with fault injection.
///
///     phone  wlan0 10.1.0.2 -- 10.1.0.1 access point, NAT 10.9.1.2 -- 10.9.1.1 net
///            cell0 10.2.0.2 -- 10.2.0.1 tower,        NAT 10.9.2.2 -- 10.9.2.1 203.0.113.10
///
/// A lab needs Linux, root, `ip`, `nft`, `conntrack`, `ss` and `sysctl`. Names contain the process
/// ID, so several labs can exist at once. If a process was killed and left a lab behind, the next
/// lab removes it.
public actor NetworkLab {
  /// A network namespace of the lab.
  public enum Namespace: String, Sendable, CaseIterable {
    /// The namespace of the client.
    case phone
    /// The router of `wlan0`.
    case accessPoint = "ap"
    /// The router of `cell0`.
    case tower
    /// The namespace of the server, at `serverAddress`.
    case net
  }

  /// The server's address as the phone sees it (RFC 5737, TEST-NET-3).
  public static let serverAddress = "203.0.113.10"

  /// The reason why a lab cannot be built on this machine; `nil` if it can.
  public static let obstacle: String? = findObstacle()

  /// Whether a lab can be built on this machine.
  public static var isAvailable: Bool { obstacle == nil }

  private static let serial = Mutex(0)

  /// The last component of the phone's address on `wlan0`.
  var wifiHost = 2
  private let suffix: String
  /// The functions that kill the programs. They are needed because a program that has just started
  /// is not yet in its namespace.
  private var killers: [@Sendable () -> Void] = []

  /// Builds a lab, calls `body`, and then removes the lab, even if `body` throws.
  public static func with<R: Sendable>(
    _ body: (NetworkLab) async throws -> R
  ) async throws -> R {
    await sweep()
    let lab = NetworkLab()
    do {
      try await lab.build()
      let result = try await body(lab)
      await lab.tearDown()
      return result
    } catch {
      await lab.tearDown()
      throw error
    }
  }

  private init() {
    let number = Self.serial.withLock {
      $0 += 1
      return $0
    }
    suffix = "\(getpid())-\(number)"
  }

  /// Returns the full name of a namespace, for `ip netns`.
  public nonisolated func name(of namespace: Namespace) -> String {
    "lab\(namespace.rawValue)-\(suffix)"
  }

  /// Runs a command in a namespace and returns the command's output.
  @discardableResult
  public func run(in namespace: Namespace, _ arguments: String..., input: String = "") async throws
    -> String
  {
    try await Shell.run(["ip", "netns", "exec", name(of: namespace)] + arguments, input: input)
  }

  /// Starts a program in a namespace. The program is killed when the lab is removed, or when the
  /// last reference to the process is released.
  public func spawn(
    in namespace: Namespace, _ arguments: [String], environment: [String: String] = [:]
  ) throws -> LabProcess {
    let program = try LabProcess(
      ["ip", "netns", "exec", name(of: namespace)] + arguments, environment: environment)
    killers.append { [weak program] in program?.signal(SIGKILL) }
    return program
  }

  /// Runs lines as one batch of `ip` commands in a namespace.
  func ip(in namespace: Namespace, _ lines: String...) async throws {
    try await Shell.run(
      ["ip", "-netns", name(of: namespace), "-batch", "-"],
      input: lines.map { $0 + "\n" }.joined())
  }

  private func build() async throws {
    let (phone, ap) = (name(of: .phone), name(of: .accessPoint))
    let (tower, net) = (name(of: .tower), name(of: .net))
    let all = Namespace.allCases.map { "netns add \(name(of: $0))\n" }.joined()
    try await Shell.run(
      ["ip", "-batch", "-"],
      input: all + """
        link add wlan0 netns \(phone) type veth peer name phone netns \(ap)
        link add cell0 netns \(phone) type veth peer name phone netns \(tower)
        link add uplink netns \(ap) type veth peer name wifi netns \(net)
        link add uplink netns \(tower) type veth peer name cell netns \(net)

        """)
    try await ip(
      in: .net, "link set lo up", "addr add \(Self.serverAddress)/32 dev lo",
      "addr add 10.9.1.1/24 dev wifi", "link set wifi up",
      "addr add 10.9.2.1/24 dev cell", "link set cell up")
    try await buildRouter(.accessPoint, number: 1)
    try await buildRouter(.tower, number: 2)
    try await ip(
      in: .phone, "link set lo up",
      "addr add 10.1.0.2/24 dev wlan0", "link set wlan0 up",
      "addr add 10.2.0.2/24 dev cell0", "link set cell0 up",
      PhoneLink.wifi.route, PhoneLink.cell.route)
  }

  private func buildRouter(_ namespace: Namespace, number: Int) async throws {
    try await ip(
      in: namespace, "link set lo up",
      "addr add 10.\(number).0.1/24 dev phone", "link set phone up",
      "addr add 10.9.\(number).2/24 dev uplink", "link set uplink up",
      "route add default via 10.9.\(number).1")
    try await run(in: namespace, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    try await run(
      in: namespace, "nft", "-f", "-",
      input: """
        table ip nat {
          chain out {
            type nat hook postrouting priority 100
            oifname "uplink" masquerade
          }
        }

        """)
  }

  private func tearDown() async {
    for kill in killers { kill() }
    for namespace in Namespace.allCases { await Self.remove(name(of: namespace)) }
  }
}

// The removal of labs, and the check whether a lab can be built.
extension NetworkLab {
  private static let folder = "/run/netns"

  /// Kills the processes in a namespace, then removes it.
  private static func remove(_ namespace: String) async {
    let listed = try? await Shell.run(["ip", "netns", "pids", namespace])
    for field in (listed ?? "").split(whereSeparator: \.isWhitespace) {
      if let process = Int32(field) { kill(process, SIGKILL) }
    }
    _ = try? await Shell.run(["ip", "netns", "delete", namespace])
  }

  /// Removes the namespaces that belong to processes that no longer exist.
  private static func sweep() async {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let parts = name.split(separator: "-")
      let isOurs = Namespace.allCases.contains { "lab" + $0.rawValue == parts.first ?? "" }
      guard isOurs, parts.count == 3, let owner = Int32(parts[1]) else { continue }
      if kill(owner, 0) != 0, errno == ESRCH { await remove(name) }
    }
  }

  private static func findObstacle() -> String? {
    #if os(Linux)
      guard geteuid() == 0 else { return "network namespaces need root" }
      let tools = ["ip", "nft", "conntrack", "ss", "sysctl"]
      let missing = tools.filter { Shell.find($0) == nil }
      guard missing.isEmpty else { return "not installed: \(missing.joined(separator: ", "))" }
      let probe = "labprobe-\(getpid())-0"
      let inside = ["ip", "-netns", probe]
      let steps = [
        ["ip", "netns", "add", probe],
        inside + ["link", "add", "near", "type", "veth", "peer", "name", "far"],
        ["ip", "netns", "exec", probe, "nft", "add", "table", "inet", "probe"],
      ]
      var obstacle: String?
      do {
        for step in steps { _ = try Shell.wait(for: step) }
      } catch {
        obstacle = "\(error)"
      }
      _ = try? Shell.wait(for: ["ip", "netns", "delete", probe])
      return obstacle
    #else
      return "network namespaces need Linux"
    #endif
  }
}
