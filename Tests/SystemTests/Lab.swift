import CLinux
import Foundation
import Glibc
import HoldfastTestKit
import Synchronization
import Testing

@testable import ReachabilityNetlink

/// A phone and the tower it talks to, each a network namespace; removed when dropped.
final class Lab: Sendable {
  let phone: String
  let tower: String

  private static let count = Atomic<Int>(0)

  static let works: Bool = {
    guard geteuid() == 0 else { return false }
    return (try? Lab()) != nil
  }()

  init() throws {
    let number = Self.count.add(1, ordering: .relaxed).newValue
    phone = "hf-\(getpid())-\(number)-phone"
    tower = "hf-\(getpid())-\(number)-tower"
    try run("netns add \(phone)")
    try run("netns add \(tower)")
  }

  deinit {
    _ = try? run("netns del \(phone)")
    _ = try? run("netns del \(tower)")
  }

  func addWiFi() throws {
    try addLink("wlan0")
    try ip("address add 10.1.0.2/24 dev wlan0")
    try ip("route add default via 10.1.0.1 dev wlan0 metric 100")
  }

  func addCell() throws {
    try addLink("cell0")
    try ip("address add 10.2.0.2/24 dev cell0")
    try ip("route add default via 10.2.0.1 dev cell0 metric 600")
  }

  /// A cable from the phone to the tower, plugged in at both ends.
  func addLink(_ name: String) throws {
    try ip("link add \(name) type veth peer name ap-\(name) netns \(tower)")
    try run("-n \(tower) link set ap-\(name) up")
    try ip("link set \(name) up")
  }

  /// A monitor whose thread lives in the phone.
  func monitor(_ target: NetlinkReachability.Target = .internet) -> NetlinkReachability {
    NetlinkReachability(target: target, prepareThread: enter)
  }

  /// Runs `body` on a thread that lives in the phone.
  func onThread(_ body: @escaping @Sendable () throws -> Bool) async -> Result<Bool, any Error> {
    await withCheckedContinuation { caller in
      Thread.detachNewThread { [self] in
        enter()
        caller.resume(returning: Result(catching: body))
      }
    }
  }

  /// Moves the calling thread into the phone.
  @Sendable private func enter() {
    let path = "/run/netns/\(phone)"
    let namespace = unsafe open(path, O_RDONLY | O_CLOEXEC)
    defer { close(namespace) }
    precondition(setns(namespace, CLONE_NEWNET) == 0, "no namespace at \(path)")
  }

  /// Runs `ip` in the phone.
  @discardableResult func ip(_ arguments: String) throws -> String {
    try run("-n \(phone) \(arguments)")
  }

  /// Runs many commands of `ip` in the phone at full speed.
  func batch(_ commands: [String]) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: phone)
    try commands.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    try ip("-batch \(file.path)")
  }

  @discardableResult func run(_ arguments: String) throws -> String {
    try Shell.wait(for: ["ip"] + arguments.split(separator: " ").map(String.init))
  }
}
