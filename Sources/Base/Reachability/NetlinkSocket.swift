#if os(Linux)
  import CHoldfastLinux
  import Glibc

  /// A netlink socket of the route family (`AF_NETLINK`).
  final class NetlinkSocket {
    let descriptor: Int32
    private var sequence: UInt32 = 0

    /// - Parameter groups: The groups of reports to subscribe to, as a mask of `RTMGRP_…`; 0 for a
    ///   socket that only sends requests.
    init(groups: UInt32) throws(NetlinkFailure) {
      descriptor = socket(
        AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), NETLINK_ROUTE)
      guard descriptor >= 0 else { throw .system(errno) }
      var address = sockaddr_nl()
      address.nl_family = sa_family_t(AF_NETLINK)
      address.nl_groups = groups
      let bound = unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
        }
      }
      guard bound == 0 else { throw .system(errno) }
    }

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Discards all pending reports.
    ///
    /// A report only means that the state must be read again. Its content is therefore not needed,
    /// and lost reports (ENOBUFS) do no harm.
    func drain() throws(NetlinkFailure) {
      while true {
        do throws(NetlinkFailure) {
          _ = try receive(flags: Int32(MSG_DONTWAIT))
        } catch {
          if error == .system(EAGAIN) { return }
          guard error == .system(ENOBUFS) else { throw error }
        }
      }
    }

    /// Reads the complete state of the kernel.
    ///
    /// Links are read first, because the kernel answers this request under the lock that each
    /// change holds until it is complete. For example, when an address is deleted, the deletion is
    /// reported before the default route is removed, and the removal itself is not reported. The
    /// change whose report woke the thread is therefore complete before addresses and routes are
    /// read.
    func picture() throws(NetlinkFailure) -> NetworkPicture {
      // A dump is repeated if the state changed meanwhile. The reports of the change arrive in any
      // case.
      for _ in 0..<4 {
        var picture = NetworkPicture()
        var isWhole = true
        for type in [RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE] {
          isWhole = try dump(type: UInt16(type), into: &picture) && isWhole
        }
        if isWhole { return picture }
      }
      throw .unstable
    }

    /// Requests all records of a type. Returns false if the records changed during the dump.
    private func dump(type: UInt16, into picture: inout NetworkPicture) throws(NetlinkFailure)
      -> Bool
    {
      sequence &+= 1
      try ask(type)
      var isWhole = true
      while true {
        for message in try NetlinkReader.messages(in: try receive(flags: 0))
        where message.sequence == sequence {
          if message.isInterrupted { isWhole = false }
          switch message.record {
          case .link(let link): picture.links.append(link)
          case .address(let address): picture.addresses.append(address)
          case .routes(let routes): picture.routes += routes
          case .done: return isWhole
          case .refused(let code): throw .system(code)
          case .ignored: break
          }
        }
      }
    }

    private func ask(_ type: UInt16) throws(NetlinkFailure) {
      struct Request {
        var header = nlmsghdr()
        var body = rtgenmsg()
      }
      var request = Request()
      request.header.nlmsg_len = UInt32(MemoryLayout<Request>.size)
      request.header.nlmsg_type = type
      request.header.nlmsg_flags = UInt16(NLM_F_REQUEST | NLM_F_DUMP)
      request.header.nlmsg_seq = sequence
      var sent: Int
      repeat {
        sent = unsafe withUnsafeBytes(of: &request) {
          unsafe send(descriptor, $0.baseAddress, $0.count, 0)
        }
      } while sent < 0 && errno == EINTR
      guard sent == MemoryLayout<Request>.size else { throw .system(errno) }
    }

    /// Receives one datagram. A signal does not end the wait.
    ///
    /// The kernel's datagrams for a dump have at most 32 KiB (netlink_dump).
    func receive(flags: Int32) throws(NetlinkFailure) -> [UInt8] {
      var code: Int32 = 0
      let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
        var received: Int
        repeat {
          received = unsafe recv(descriptor, buffer.baseAddress, buffer.count, flags)
        } while received < 0 && errno == EINTR
        if received < 0 { code = errno }
        count = max(received, 0)
      }
      guard code == 0 else { throw .system(code) }
      return bytes
    }
  }
#endif
