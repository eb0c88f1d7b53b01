public import HoldfastPorts

#if os(Linux)
  import CHoldfastLinux
  import Foundation
  public import HoldfastCore
  import HoldfastDriver
  import HoldfastLinuxEvents

  /// A monitor that determines the path to a target from the kernel's routes (rtnetlink(7)).
  ///
  /// A thread sleeps until the kernel reports a change of links, addresses or routes, and then
  /// reads all of them again. The individual reports are not applied, because the kernel removes
  /// default routes without a report, and may drop reports when there are many. A path without a
  /// carrier counts as missing, even while its route exists. The monitor detects neither the
  /// network behind the first gateway nor the routes of tables other than the main table.
  public struct NetlinkReachability: ReachabilityMonitor {
    /// The destination of the path.
    public enum Target: Sendable, Hashable {
      /// This device itself, which is always reachable.
      case loopback
      /// Any public address of either family.
      case internet
      /// A single address, for example of a server in the local network.
      case address(IPAddress)

      /// Creates the target for the host of a URL, which is a name, or an address with or without
      /// brackets.
      public init(host: String) {
        let bare =
          host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        let name = bare.lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") {
          self = .loopback
        } else if let address = IPAddress(bare) {
          self = address.isLoopback ? .loopback : .address(address)
        } else {
          self = .internet
        }
      }
    }

    /// The state that is reported if the kernel cannot be queried. A failing attempt is better than
    /// waiting forever.
    public static let unknown = Reachability.reachable(path: PathID("unknown"))

    private let target: Target
    private let prepareThread: @Sendable () -> Void

    /// Creates a monitor of the path to `target`.
    public init(target: Target) {
      self.init(target: target) {}
    }

    /// - Parameter prepareThread: A function that is called first on the watching thread. A test
    ///   uses it to move the thread into a network namespace.
    init(target: Target, prepareThread: @escaping @Sendable () -> Void) {
      self.target = target
      self.prepareThread = prepareThread
    }

    /// Returns the current state, and then each change. If more than 64 elements are unread, the
    /// oldest are dropped.
    public func changes() -> AsyncStream<Reachability> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Reachability.self, bufferingPolicy: .bufferingNewest(64))
      guard target != .loopback else {
        continuation.yield(.reachable(path: NetworkPicture.loopback))
        return stream
      }
      let stop = StopSignal()
      continuation.onTermination = { _ in stop.send() }
      let (target, prepareThread) = (target, prepareThread)
      let thread = Thread {
        prepareThread()
        watch(target, until: stop) { continuation.yield($0) }
      }
      thread.name = "reachability"
      thread.start()
      return stream
    }
  }

  /// Reports the state whenever it changes, until `stop` is sent.
  private func watch(
    _ target: NetlinkReachability.Target, until stop: StopSignal, deliver: (Reachability) -> Void
  ) {
    let groups =
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE
    guard let news = try? NetlinkSocket(groups: UInt32(groups)),
      let kernel = try? NetlinkSocket(groups: 0)
    else { return deliver(NetlinkReachability.unknown) }
    var last: Reachability?
    repeat {
      // If the query fails, the last result stays valid until the next report.
      let found = (try? kernel.picture().reachability(of: target)) ?? last
      if found != last || last == nil { deliver(found ?? NetlinkReachability.unknown) }
      last = found ?? NetlinkReachability.unknown
    } while stop.allowsWaiting(for: news.descriptor) && (try? news.drain()) != nil
    // Changes are no longer watched, so the last result must not block attempts. If the watch was
    // stopped, there is no receiver.
    deliver(NetlinkReachability.unknown)
  }
#endif
