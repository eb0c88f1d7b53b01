/// The negotiated parameters of permessage-deflate (RFC 7692 section 7.1).
public struct DeflateParameters: Equatable, Sendable {
  /// Whether the server starts every message with an empty window.
  public var serverNoContextTakeover: Bool
  /// Whether the client starts every message with an empty window.
  public var clientNoContextTakeover: Bool
  /// The base-2 logarithm of the size of the server's window, from 8 to 15.
  public var serverMaxWindowBits: Int
  /// The base-2 logarithm of the size of the client's window, from 8 to 15.
  public var clientMaxWindowBits: Int

  /// Creates parameters. By default, neither direction has context takeover, so that no memory is
  /// needed between messages.
  public init(
    serverNoContextTakeover: Bool = true, clientNoContextTakeover: Bool = true,
    serverMaxWindowBits: Int = 15, clientMaxWindowBits: Int = 15
  ) {
    self.serverNoContextTakeover = serverNoContextTakeover
    self.clientNoContextTakeover = clientNoContextTakeover
    self.serverMaxWindowBits = min(15, max(8, serverMaxWindowBits))
    self.clientMaxWindowBits = min(15, max(8, clientMaxWindowBits))
  }

  /// Returns whether the window of messages from `sender` is reset after each message.
  func endsContext(of sender: WebSocketRole) -> Bool {
    sender == .server ? serverNoContextTakeover : clientNoContextTakeover
  }

  func windowBits(of sender: WebSocketRole) -> Int {
    sender == .server ? serverMaxWindowBits : clientMaxWindowBits
  }

  static let name = "permessage-deflate"

  /// The offer of this client: no context takeover in either direction, and a client window chosen
  /// by the server.
  public static let offer =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
    + "client_max_window_bits"

  /// Selects an offer from a client's `Sec-WebSocket-Extensions` value. Returns the agreed
  /// parameters and the response.
  ///
  /// An offer with an unknown, repeated or invalid parameter is skipped (RFC 7692 section 7.1).
  /// Returns `nil` if no valid offer is left.
  public static func accept(offers: String) -> (parameters: DeflateParameters, response: String)? {
    guard let list = ExtensionOffer.list(offers) else { return nil }
    for offer in list where offer.name == name {
      guard let asked = Agreed(offer, side: .offer) else { continue }
      let parameters = DeflateParameters(serverMaxWindowBits: asked.serverBits ?? 15)
      var response = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
      if let bits = asked.serverBits { response += "; server_max_window_bits=\(bits)" }
      return (parameters, response)
    }
    return nil
  }

  /// Returns the parameters in a server's `Sec-WebSocket-Extensions` value, for a client that sent
  /// ``offer``.
  ///
  /// Returns `nil` if the response is not valid for that offer. A server that omits
  /// `server_no_context_takeover` is assumed to keep its window. This assumption is also correct
  /// for a server that resets its window.
  public static func parse(response: String) -> DeflateParameters? {
    guard let list = ExtensionOffer.list(response), list.count == 1, list[0].name == name,
      let said = Agreed(list[0], side: .response)
    else { return nil }
    return DeflateParameters(
      serverNoContextTakeover: said.serverReset, clientNoContextTakeover: true,
      serverMaxWindowBits: said.serverBits ?? 15, clientMaxWindowBits: said.clientBits ?? 15)
  }

  /// The validated parameters of one element.
  private struct Agreed {
    var serverReset = false
    var serverBits: Int?
    var clientBits: Int?

    enum Side {
      case offer, response
    }

    init?(_ element: ExtensionOffer, side: Side) {
      var seen: Set<String> = []
      for parameter in element.parameters {
        guard seen.insert(parameter.name).inserted, take(parameter, side: side) else { return nil }
      }
    }

    private mutating func take(_ parameter: ExtensionOffer.Parameter, side: Side) -> Bool {
      switch (parameter.name, parameter.value) {
      case ("server_no_context_takeover", nil): serverReset = true
      // The client always resets its window after each message.
      case ("client_no_context_takeover", nil): break
      case ("server_max_window_bits", let value?):
        serverBits = Self.bits(value)
        return serverBits != nil
      case ("client_max_window_bits", nil): return side == .offer
      case ("client_max_window_bits", let value?):
        clientBits = Self.bits(value)
        return clientBits != nil
      case _: return false
      }
      return true
    }

    /// Parses a number from 8 to 15 in decimal without leading zeros (RFC 7692 section 7.1.2).
    private static func bits(_ value: String) -> Int? {
      guard let number = Int(value), 8...15 ~= number, String(number) == value else { return nil }
      return number
    }
  }
}
