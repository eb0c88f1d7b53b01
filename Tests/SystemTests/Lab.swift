import CHoldfastLinux
import Foundation
import Glibc
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastNetlink

/// The network namespaces of a phone and a radio tower, which `deinit` removes.
final class Lab: Sendable {
  let phone: String
  let tower: String

  private static let count = Atomic<Int>(0)

  static let works: Bool = {
    guard geteuid() == 0 else { return false }
    let name = "hf-\(getpid())-0"
    return (try? wait(for: "netns add \(name)")) != nil
      && (try? wait(for: "netns del \(name)")) != nil
  }()

  init() async throws {
    let number = Self.count.add(1, ordering: .relaxed).newValue
    phone = "hf-\(getpid())-\(number)-phone"
    tower = "hf-\(getpid())-\(number)-tower"
    try await run("netns add \(phone)")
    try await run("netns add \(tower)")
  }

  deinit {
    // Wait for the commands, so that no namespace remains when the process ends.
    _ = try? Self.wait(for: "netns del \(phone)")
    _ = try? Self.wait(for: "netns del \(tower)")
  }

  func addWiFi() async throws {
    try await addLink("wlan0")
    try await ip("address add 10.1.0.2/24 dev wlan0")
    try await ip("route add default via 10.1.0.1 dev wlan0 metric 100")
  }

  func addCell() async throws {
    try await addLink("cell0")
    try await ip("address add 10.2.0.2/24 dev cell0")
    try await ip("route add default via 10.2.0.1 dev cell0 metric 600")
  }

  /// Adds a virtual cable between the phone and the tower, with both ends up.
  func addLink(_ name: String) async throws {
    try await ip("link add \(name) type veth peer name ap-\(name) netns \(tower)")
    try await run("-n \(tower) link set ap-\(name) up")
    try await raise(name)
  }

  /// Switches a link on, and waits for its carrier.
  ///
  /// The kernel reports the carrier later than the command ends (`linkwatch`). A default route that
  /// is added in between leads into the void, which a monitor rightly reports as unreachable.
  func raise(_ name: String) async throws {
    try await ip("link set \(name) up")
    while try await !ip("-br link show \(name)").contains(" UP ") {}
  }

  /// Returns a monitor whose thread runs in the phone's namespace.
  func monitor(_ target: NetlinkReachability.Target = .internet) -> NetlinkReachability {
    NetlinkReachability(target: target, prepareThread: enter)
  }

  /// Runs `body` on a thread in the phone's namespace.
  func onThread(_ body: @escaping @Sendable () throws -> Bool) async -> Result<Bool, any Error> {
    await withCheckedContinuation { caller in
      Thread.detachNewThread { [self] in
        enter()
        caller.resume(returning: Result(catching: body))
      }
    }
  }

  /// Moves the calling thread into the phone's namespace.
  @Sendable private func enter() {
    let path = "/run/netns/\(phone)"
    let namespace = unsafe open(path, O_RDONLY | O_CLOEXEC)
    defer { close(namespace) }
    precondition(setns(namespace, CLONE_NEWNET) == 0, "no namespace at \(path)")
  }

  /// Runs `ip` in the phone's namespace.
  @discardableResult func ip(_ arguments: String) async throws -> String {
    try await run("-n \(phone) \(arguments)")
  }

  /// Runs `ip` commands in the phone's namespace as one batch, on the calling thread.
  func batch(_ commands: [String]) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: phone)
    try commands.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    try Self.wait(for: "-n \(phone) -batch \(file.path)")
  }

  @discardableResult func run(_ arguments: String) async throws -> String {
    try await Shell.run(Self.split(arguments))
  }

  @discardableResult private static func wait(for arguments: String) throws -> String {
    try Shell.wait(for: split(arguments))
  }

  private static func split(_ arguments: String) -> [String] {
    ["ip"] + arguments.split(separator: " ").map(String.init)
  }
}
