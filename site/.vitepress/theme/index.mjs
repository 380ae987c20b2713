// The default theme; its home page has no landmark that says where the content is.

import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { onMounted, watch } from 'vue';
import './style.css';

function markHome() {
  document.querySelector('.VPHome')?.setAttribute('role', 'main');
}

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    onMounted(markHome);
    watch(() => route.data, markHome, { flush: 'post' });
  },
};
