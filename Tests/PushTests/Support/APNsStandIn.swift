import Foundation
import HoldfastCore
import HoldfastCurlNetwork
import HoldfastPorts
import HoldfastPush
import HoldfastTestKit
import Testing

/// A stand-in for Apple's push service over HTTP/2 and TLS. It verifies each request.
///
/// The stand-in is a process of Debian's Python with `h2` and `cryptography`, neither of which is
/// part of this package. It responds according to a plan, and reports the contents and the faults
/// of each request.
final class APNsStandIn {
  /// A request as the stand-in received it.
  struct Seen: Decodable, Equatable {
    var connection: Int
    var method: String
    var path: String
    var headers: [String: String]
    var body: String
    /// The faults of the token; empty if its signature, header and claims are correct.
    var faults: [String]
    var iat: Int?
  }

  static let keyID = "ABC123DEFG"
  static let team = "DEF123GHIJ"

  private let process: LabProcess
  let scratch: Scratch
  let url: String
  private let lines = Mailbox<String>()
  private let taken = Mailbox<String>()

  /// The path of the private key, which is in the format that Apple issues.
  var keyPath: String { scratch("AuthKey.p8") }
  var authorities: String { scratch("ca.pem") }

  /// The path of Debian's interpreter, which has both packages. Another interpreter may lack them.
  static let python = "/usr/bin/python3"

  /// Whether the interpreter and both packages are installed.
  static let isThere: Bool =
    (try? Shell.wait(for: [python, "-c", "import h2, cryptography"])) != nil

  /// Starts the stand-in.
  ///
  /// - Parameter speaks: The protocol that the stand-in selects over ALPN: `h2` or `http/1.1`.
  init(speaks: String = "h2") async throws {
    scratch = try Scratch()
    let folder = scratch.path
    for arguments in [
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout tls.key "
        + "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -days 30 -out ca.pem",
      "ecparam -name prime256v1 -genkey -noout -out plain.key",
      "pkcs8 -topk8 -nocrypt -in plain.key -out AuthKey.p8",
      "ec -in plain.key -pubout -out public.pem",
    ] {
      try await Shell.run(["sh", "-c", "umask 077; cd '\(folder)' && exec openssl \(arguments)"])
    }
    process = try LabProcess([Self.python, "-c", Self.program, folder, speaks])
    Task { [lines, taken, said = process.lines] in
      for await line in said { (line == "planned" ? taken : lines).put(line) }
      lines.close()
      taken.close()
    }
    let port = await lines.next()
    url = "https://127.0.0.1:\(try #require(port))"
  }

  /// Sets the response to the next request.
  ///
  /// A request without a planned response is answered with 200.
  func plan(
    _ status: Int, _ reason: String? = nil, headers: [String: String] = [:]
  ) async throws {
    let plan: [String: Any] = [
      "status": status, "headers": headers,
      "body": reason.map { #"{"reason":"\#($0)"}"# } ?? "",
    ]
    let line = try JSONSerialization.data(withJSONObject: plan)
    await give(String(decoding: line, as: UTF8.self))
  }

  /// Ends the connection with GOAWAY after the next response, like a server that is being replaced.
  func planGoodbye() async {
    await give(#"{"status":200,"headers":{},"body":"","goodbye":true}"#)
  }

  /// Leaves the next request without a response.
  func planSilence() async {
    await give(#"{"status":0,"headers":{},"body":""}"#)
  }

  private func give(_ plan: String) async {
    process.send(plan)
    _ = await taken.next()
  }

  /// Returns the next request that the stand-in received.
  func next() async throws -> Seen {
    let line = await lines.next()
    return try JSONDecoder().decode(Seen.self, from: Data(try #require(line).utf8))
  }

  /// Returns a sender that trusts the stand-in.
  func sender(
    clock: any LinkClock = BootClock(), timeout: Duration = .seconds(600), seed: UInt64 = 1
  ) throws -> APNsSender {
    APNsSender(
      APNsConfiguration(
        keyID: Self.keyID, team: Self.team, topic: "example.holdfast", service: url,
        timeout: timeout),
      key: try ProviderKey(path: keyPath),
      network: try CurlNetwork(CurlConfiguration(authorities: authorities)), clock: clock,
      generator: RandomSource(seed: seed))
  }

  private static let program = #"""
    import base64, json, os, queue, socket, ssl, sys, threading
    import h2.config, h2.connection, h2.events
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, utils
    folder, speaks = sys.argv[1:]
    public = serialization.load_pem_public_key(open(folder + '/public.pem', 'rb').read())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + '/ca.pem', folder + '/tls.key')
    context.set_alpn_protocols([speaks])
    listener = socket.create_server(('127.0.0.1', 0))
    print(listener.getsockname()[1], flush=True)
    plans = queue.Queue()

    def plain(text):
        return base64.urlsafe_b64decode(text + '=' * (-len(text) % 4))

    def check(authorization):
        faults, iat = [], None
        try:
            scheme, token = authorization.split(' ')
            if scheme != 'bearer': faults.append('scheme')
            if '=' in token: faults.append('padding')
            header, claims, signature = token.split('.')
            head, body, raw = json.loads(plain(header)), json.loads(plain(claims)), plain(signature)
            if head != {'alg': 'ES256', 'kid': 'ABC123DEFG'}: faults.append('header')
            is_claim = sorted(body) == ['iat', 'iss'] and body['iss'] == 'DEF123GHIJ'
            if not is_claim: faults.append('claims')
            iat = body['iat']
            if len(raw) != 64: faults.append('length')
            code = utils.encode_dss_signature(
                int.from_bytes(raw[:32], 'big'), int.from_bytes(raw[32:], 'big'))
            public.verify(code, (header + '.' + claims).encode(), ec.ECDSA(hashes.SHA256()))
        except Exception as error:
            faults.append(type(error).__name__)
        return faults, iat

    def answer(link, number, stream, fields, body):
        faults, iat = check(fields.get('authorization', ''))
        fields.pop('authorization', None)
        try: plan = plans.get_nowait()
        except queue.Empty: plan = {'status': 200, 'headers': {}, 'body': ''}
        goodbye = plan.get('goodbye', False)
        print(json.dumps({'connection': number, 'method': fields.pop(':method'),
            'path': fields.pop(':path'),
            'headers': {k: v for k, v in fields.items() if k[0] != ':'},
            'body': body.decode(), 'faults': faults, 'iat': iat}), flush=True)
        if plan['status'] == 0: return False
        data = plan['body'].encode()
        link.send_headers(stream, [(':status', str(plan['status']))]
            + list(plan['headers'].items()), end_stream=not data)
        if data: link.send_data(stream, data, end_stream=True)
        if goodbye: link.close_connection()
        return goodbye

    def serve(bare, number):
        try:
            stream = context.wrap_socket(bare, server_side=True)
            if speaks != 'h2':
                stream.recv(4096)
                stream.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
                stream.recv(1)
                return
            link = h2.connection.H2Connection(h2.config.H2Configuration(
                client_side=False, header_encoding='utf-8'))
            link.initiate_connection()
            stream.sendall(link.data_to_send())
            requests, over = {}, False
            while not over:
                data = stream.recv(65536)
                if not data: break
                for event in link.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        requests[event.stream_id] = (dict(event.headers), b'')
                    elif isinstance(event, h2.events.DataReceived):
                        fields, body = requests[event.stream_id]
                        requests[event.stream_id] = (fields, body + event.data)
                        link.acknowledge_received_data(
                            event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, h2.events.StreamEnded):
                        fields, body = requests.pop(event.stream_id)
                        over = answer(link, number, event.stream_id, fields, body) or over
                stream.sendall(link.data_to_send())
            stream.unwrap()
        except Exception:
            pass
        bare.close()

    def listen():
        number = 0
        while True:
            bare = listener.accept()[0]
            number += 1
            threading.Thread(target=serve, args=(bare, number), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    for line in sys.stdin:
        plans.put(json.loads(line))
        print('planned', flush=True)
    os._exit(0)
    """#
}
