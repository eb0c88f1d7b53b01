import HoldfastTestKit

/// Certificates for 127.0.0.1 and localhost, created once with the `openssl` command.
struct Certificates {
  private let scratch: Scratch

  static let shared = Task { try await Certificates() }

  var folder: String { scratch.path }

  /// The path of the certificate of the authority that signed all certificates except `selfSigned`.
  var authority: String { "\(folder)/ca.pem" }

  /// A kind of certificate chain. Each has its own key.
  enum Kind: String, CaseIterable {
    case good, expired, wrongHost, selfSigned
  }

  private init() async throws {
    scratch = try Scratch()
    let hosts = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    try await run("req -x509 \(Self.key("ca")) -subj /CN=Authority -days 30 -out ca.pem")
    try await run(
      "req -x509 \(Self.key("selfSigned")) -subj /CN=leaf -addext \(hosts) -days 30 "
        + "-out selfSigned.pem")
    for (kind, names, days) in [
      (Kind.good, hosts, 30), (.expired, hosts, -1), (.wrongHost, "subjectAltName=DNS:other", 30),
    ] {
      try scratch.write(names.utf8, to: "\(kind).names")
      try await run("req -new \(Self.key(kind.rawValue)) -subj /CN=leaf -out \(kind).csr")
      try await run(
        "x509 -req -in \(kind).csr -CA ca.pem -CAkey ca.key -CAcreateserial -days \(days) "
          + "-extfile \(kind).names -out \(kind).pem")
    }
  }

  private static func key(_ name: String) -> String {
    "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout \(name).key"
  }

  private func run(_ arguments: String) async throws {
    try await Shell.run(["sh", "-c", "cd '\(folder)' && exec openssl \(arguments)"])
  }
}
