@testable import HoldfastNetlink

/// The properties of the kernel's messages about links, addresses and routes.
enum NetlinkProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    #if os(Linux)
      guard let messages = try? NetlinkReader.messages(in: bytes) else { return }
      try hold(messages.count <= bytes.count / 16, "a message has at least its head")
      var picture = NetworkPicture()
      for message in messages {
        switch message.record {
        case .link(let link): picture.links.append(link)
        case .address(let address): picture.addresses.append(address)
        case .routes(let routes): picture.routes += routes
        case .done, .refused, .ignored: break
        }
      }
      for address in picture.addresses.map(\.address) {
        try hold(IPAddress(address.description) == address, "an address survives its text")
        _ = picture.reachability(of: .address(address))
      }
      for route in picture.routes { _ = picture.reachability(of: .address(route.destination)) }
      _ = picture.reachability(of: .internet)
    #endif
  }
}
