// Search in pages that are opened from the file system: browsers start no worker there.
// A hidden frame runs the same program instead, and passes its messages on.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "search"
      const waiting = []
      let isReady = false
      const pass = (message) => frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: message }))
      this.postMessage = (message) => (isReady ? pass(message) : waiting.push(message))
      frame.addEventListener("load", () => {
        const inner = frame.contentWindow
        if (isReady || inner.location.href !== "about:blank") return
        inner.postMessage = (message) => this.dispatchEvent(new MessageEvent("message", { data: message }))
        const script = inner.document.createElement("script")
        script.src = address
        script.onload = () => {
          isReady = true
          waiting.forEach(pass)
        }
        inner.document.body.append(script)
      })
      const attach = () => document.body.append(frame)
      document.body ? attach() : addEventListener("DOMContentLoaded", attach)
    }
  }
}
