#if os(Linux)
  import CLinux
  import Foundation
  public import LinkCore
  public import LinkDriver
  import LinuxEvents

  /// Tells from the kernel's routes whether there is a path, and which (rtnetlink(7)).
  ///
  /// A thread sleeps until the kernel has news about links, addresses or routes; then it reads all
  /// three afresh. News are never applied one by one, since the kernel drops default routes without
  /// a word, and may lose news when there are many. A path that lost its carrier counts as none,
  /// even while its route still stands. What lies behind the first gateway is not seen, nor are
  /// policy routing tables other than the main one.
  public struct NetlinkReachability: ReachabilityMonitor {
    /// What the path should lead to.
    public enum Target: Sendable, Hashable {
      /// This device itself: always reachable.
      case loopback
      /// Any public address, of either family.
      case internet
      /// One address, for instance of a server in the local network.
      case address(IPAddress)

      /// Takes the host of a URL: a name, or an address with or without brackets.
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

    /// The answer when the kernel cannot be asked: trying beats waiting for ever.
    public static let unknown = Reachability.reachable(path: PathID("unknown"))

    private let target: Target
    private let prepareThread: @Sendable () -> Void

    /// Watches the path to `target`.
    public init(target: Target) {
      self.init(target: target) {}
    }

    /// - Parameter prepareThread: Runs first on the thread that watches; a test moves it into a
    ///   network namespace.
    init(target: Target, prepareThread: @escaping @Sendable () -> Void) {
      self.target = target
      self.prepareThread = prepareThread
    }

    /// How things are, then every change. Of more than 64 unread elements the oldest are dropped.
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

  /// Says how things are whenever that changed, until told to stop.
  private func watch(
    _ target: NetlinkReachability.Target, until stop: StopSignal, say: (Reachability) -> Void
  ) {
    let groups =
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE
    guard let news = try? NetlinkSocket(groups: UInt32(groups)),
      let kernel = try? NetlinkSocket(groups: 0)
    else { return say(NetlinkReachability.unknown) }
    var last: Reachability?
    repeat {
      // A failed look leaves the last answer standing until there are news again.
      let found = (try? kernel.picture().reachability(of: target)) ?? last
      if found != last || last == nil { say(found ?? NetlinkReachability.unknown) }
      last = found ?? NetlinkReachability.unknown
    } while stop.allowsWaiting(for: news.descriptor) && (try? news.drain()) != nil
    // Nobody watches any more, so nothing may be held back for the last answer. After a stop nobody
    // listens to this.
    say(NetlinkReachability.unknown)
  }
#endif
