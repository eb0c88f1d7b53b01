import Testing

@testable import HoldfastProtocols

@Suite struct NegotiationTests {
  static let plain = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"

  static let accepted: [(String, Int, String)] = [
    ("permessage-deflate", 15, plain),
    (DeflateParameters.offer, 15, plain),
    ("permessage-deflate; client_max_window_bits", 15, plain),
    ("permessage-deflate; client_max_window_bits=8", 15, plain),
    ("permessage-deflate; server_max_window_bits=8", 8, plain + "; server_max_window_bits=8"),
    (
      "permessage-deflate;server_max_window_bits = \"10\"", 10,
      plain + "; server_max_window_bits=10"
    ),
    (
      "permessage-deflate; server_max_window_bits=\"1\\0\"", 10,
      plain + "; server_max_window_bits=10"
    ),
    (
      "permessage-deflate; server_max_window_bits=10 ; client_max_window_bits", 10,
      plain + "; server_max_window_bits=10"
    ),
    ("x-other, permessage-deflate", 15, plain),
    ("permessage-deflate; unknown, permessage-deflate", 15, plain),
    ("permessage-deflate; server_max_window_bits=16, permessage-deflate", 15, plain),
    (" , permessage-deflate ,", 15, plain),
  ]

  @Test(arguments: accepted)
  func `the first good offer is accepted`(_ offers: String, _ bits: Int, _ response: String) {
    let agreed = DeflateParameters.accept(offers: offers)
    #expect(agreed?.parameters == DeflateParameters(serverMaxWindowBits: bits))
    #expect(agreed?.response == response)
  }

  @Test(arguments: [
    "", ",", "x-webkit-deflate-frame", "permessage-deflate; server_no_context_takeover=1",
    "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=7",
    "permessage-deflate; server_max_window_bits=16",
    "permessage-deflate; server_max_window_bits=09",
    "permessage-deflate; server_max_window_bits=+9", "permessage-deflate; client_max_window_bits=7",
    "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
    "permessage-deflate; what", "permessage-deflate;", "permessage-deflate; =",
    "permessage-deflate x",
    "permessage-deflate; server_max_window_bits=\"10",
    "permessage-deflate; server_max_window_bits=\"10\\",
    "permessage-deflate; client_max_window_bits=", "x-other; a=\"b c\", permessage-deflate",
  ])
  func `an invalid or unknown offer is declined`(_ offers: String) {
    #expect(DeflateParameters.accept(offers: offers) == nil)
  }

  static let answers: [(String, DeflateParameters?)] = [
    (plain, DeflateParameters()),
    ("permessage-deflate", DeflateParameters(serverNoContextTakeover: false)),
    (
      plain + "; server_max_window_bits=9; client_max_window_bits=12",
      DeflateParameters(serverMaxWindowBits: 9, clientMaxWindowBits: 12)
    ),
    (plain + "; client_max_window_bits", nil), (plain + "; client_max_window_bits=16", nil),
    (plain + "; server_max_window_bits", nil), (plain + "; other", nil),
    (plain + ", " + plain, nil),
    ("x-other", nil), ("", nil),
  ]

  @Test(arguments: answers)
  func `a valid response is read, an invalid one is rejected`(
    _ response: String, _ agreed: DeflateParameters?
  ) {
    #expect(DeflateParameters.parse(response: response) == agreed)
  }

  @Test(arguments: [(7, 8), (8, 8), (15, 15), (16, 15)])
  func `window bits are clamped to the range of zlib and the protocol`(_ bits: Int, _ expected: Int)
  {
    let parameters = DeflateParameters(serverMaxWindowBits: bits, clientMaxWindowBits: bits)
    #expect(parameters.serverMaxWindowBits == expected)
    #expect(parameters.clientMaxWindowBits == expected)
  }
}
