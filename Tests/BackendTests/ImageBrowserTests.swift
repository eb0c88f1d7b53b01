import HoldfastBackend
import HoldfastMessageData
import HoldfastTestKit
import Testing

/// Tests that a browser shows images of the backend.
@Suite(
  .enabled(if: Browser.binary != nil, "chromium-headless-shell is not installed"),
  .offThePool, .timeLimit(.minutes(60)))
struct ImageBrowserTests {
  @Test func `a browser shows an image by its address and a token, and reads a part of it`()
    async throws
  {
    let scratch = try Scratch()
    try await BackendRig.run(in: scratch("data")) { rig in
      let (ann, ben) = (try await rig.token(), try await rig.token("ben"))
      let seen = try await Browser.run(
        Self.script, at: "http://127.0.0.1:\(rig.address.port)", scratch("profile"),
        [ImageRoute.upload.path, ShopRoute.send.path, ann, ben])
      #expect(seen["shown"] as? [Int] == [300, 200])
      let size = try #require(seen["size"] as? Int)
      #expect(seen["part"] as? [String] == ["206", "bytes 70000-70009/\(size)", "same"])
      #expect(seen["again"] as? [String] == ["304", ""])
      // An image without a token, and one that was deleted with its message.
      #expect(seen["anonymous"] as? String == "error")
      #expect(seen["deleted"] as? String == "error")
    }
  }

  /// Uploads a PNG of about 180 KB, posts it, and shows it to another member.
  private static let script = #"""
    import struct, urllib.request, zlib
    upload, send, ann, ben = given

    def chunk(name, data):
      checked = name + data
      return struct.pack('>I', len(data)) + checked + struct.pack('>I', zlib.crc32(checked))

    # Random pixels, so that compression does not make the image small.
    rows = b''.join(b'\0' + os.urandom(900) for _ in range(200))
    image = (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 300, 200, 8, 2, 0, 0, 0))
      + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))

    def ask(method, path, body=None, **fields):
      request = urllib.request.Request(base + path, body, method=method,
        headers=dict(fields, Authorization='Bearer ' + ann))
      with urllib.request.urlopen(request) as answer: return json.load(answer)

    stored = ask('POST', upload + '?shop_id=bakery', image)['data']
    post = json.dumps({'shop_id': 'bakery', 'message': '[IMAGE:%s]' % stored['image_url']})
    posted = ask('POST', send, post.encode(), **{'Content-Type': 'application/json'})['data']
    url = stored['image_url'] + '?token=' + ben

    def show(url):
      return run('''new Promise(done => {
        const image = new Image();
        image.onload = () => done([image.naturalWidth, image.naturalHeight]);
        image.onerror = () => done('error');
        document.body.append(image);
        image.src = %s;
      })''' % json.dumps(url))

    def fetch(fields):
      return run('''fetch(%s, { headers: %s, cache: 'no-store' }).then(async answer => [
        String(answer.status), answer.headers.get('content-range') ?? '',
        String(new Uint8Array(await answer.arrayBuffer())), answer.headers.get('etag')])'''
        % (json.dumps(url), json.dumps(fields)))

    load('Page.navigate', url=base + '/healthz')
    seen = {'size': len(image), 'shown': show(url), 'anonymous': show(stored['image_url'])}
    part = fetch({'Range': 'bytes=70000-70009'})
    same = part[2] == ','.join(str(byte) for byte in image[70000:70010])
    seen['part'] = part[:2] + ['same' if same else part[2]]
    seen['again'] = fetch({'If-None-Match': part[3]})[:3:2]
    ask('DELETE', upload.rsplit('/', 2)[0] + '/' + posted['id'])
    seen['deleted'] = show(url + '&again')
    """#
}
