//! A headless Chromium, spoken to in its own DevTools protocol.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// Where Chromium is, if it is.
///
/// # Panics
/// If `UNDERSTUDY_NEEDS_CHROMIUM` is set, as `.ci/run` does, and it isn't there: a skip would be a failure.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("UNDERSTUDY_NEEDS_CHROMIUM").is_none(),
            "Chromium is missing; .ci/setup installs it on Debian"
        );
        println!(
            "SKIPPED: Chromium is missing, so the page was not opened; to install it: apt-get install chromium"
        );
    }
    found
}

/// A running browser with one page. It ends with the value.
pub(crate) struct Browser {
    process: Child,
    socket: WebSocket<MaybeTlsStream<std::net::TcpStream>>,
    session: String,
    last: u64,
    /// What the page complained about, as the browser says it.
    pub(crate) complaints: Vec<String>,
    /// The addresses that it asked for.
    pub(crate) requests: Vec<String>,
    _profile: TempDir,
}

/// A screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
}

impl Browser {
    /// Starts it.
    pub(crate) fn start(program: &Path) -> Self {
        let profile = TempDir::new().unwrap();
        // The sandbox asks for rights that neither root nor a container has; the only page it opens is our own.
        let mut process = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--remote-debugging-port=0", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stderr(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("Chromium says where it listens");
        // Nobody reads on, but a full pipe must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = tungstenite::connect(address).expect("Chromium answers");
        let mut browser = Browser {
            process,
            socket,
            session: String::new(),
            last: 0,
            complaints: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        browser.session =
            browser.call("Target.attachToTarget", &attach)["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Sets the screen.
    pub(crate) fn screen(&mut self, screen: Screen) {
        let Screen { width, height, dark } = screen;
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700 }),
        );
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", &json!({ "features": [feature] }));
    }

    /// Opens a file and waits until it has been loaded.
    pub(crate) fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", &json!({ "url": url }));
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))",
        );
    }

    /// The value of an expression in the page; promises are awaited.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let arguments = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &arguments);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses a key, as `ArrowRight`, `Tab`, `Enter`.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, None),
            "Enter" => (13, Some("\r")),
            "Escape" => (27, None),
            "End" => (35, None),
            "Home" => (36, None),
            "ArrowLeft" => (37, None),
            "ArrowUp" => (38, None),
            "ArrowRight" => (39, None),
            "ArrowDown" => (40, None),
            _ => panic!("no such key: {key}"),
        };
        let mut down =
            json!({ "type": "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if let Some(text) = text {
            down["type"] = "keyDown".into();
            down["text"] = text.into();
        }
        self.call("Input.dispatchKeyEvent", &down);
        let up = json!({ "type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// Moves the pointer to a place on the screen.
    pub(crate) fn point(&mut self, (x, y): (f64, f64)) {
        self.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Presses and lets go at a place on the screen.
    pub(crate) fn click(&mut self, (x, y): (f64, f64)) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// The page from its top to the end of an element, as base64 of a PNG.
    pub(crate) fn picture(&mut self, until: &str) -> String {
        let size = self.evaluate(&format!(
            "[innerWidth, scrollY + document.querySelector('{until}').getBoundingClientRect().bottom]"
        ));
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let arguments = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        self.call("Page.captureScreenshot", &arguments)["data"].as_str().unwrap().to_owned()
    }

    /// Sends a command and returns its answer; what happens meanwhile is noted.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_empty() {
            command["sessionId"] = self.session.clone().into();
        }
        self.socket.send(Message::text(command.to_string())).expect("Chromium listens");
        loop {
            let Message::Text(text) = self.socket.read().expect("Chromium answers") else { continue };
            let said: Value = serde_json::from_str(&text).expect("it speaks JSON");
            if said["id"] == self.last {
                assert!(said.get("error").is_none(), "{method}: {said}");
                return said["result"].clone();
            }
            self.note(&said);
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(params["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(params["entry"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(params["args"].to_string()),
            Some("Network.requestWillBeSent") => {
                self.requests.push(params["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
